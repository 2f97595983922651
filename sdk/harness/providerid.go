package harness

import (
	"fmt"
	"regexp"
	"strings"
)

// providerScheme is the form in which one cloud's controller manager writes
// Node.spec.providerID (modules.md 1.11).
type providerScheme struct {
	prefix  string
	form    *regexp.Regexp
	example string
}

// providerSchemes are the known forms. A scheme that is not listed is trusted:
// its Nodes join with what the module emits.
var providerSchemes = []providerScheme{
	{"aws://", regexp.MustCompile(`^aws:///[a-z0-9-]+/i-[0-9a-f]+$`), "aws:///<zone>/<instance id>"},
	{"gce://", regexp.MustCompile(`^gce://[^/]+/[^/]+/[^/]+$`), "gce://<project>/<zone>/<instance name>"},
	{"azure://", regexp.MustCompile(`^azure:///subscriptions/[^/A-Z]+/resourceGroups/[^/A-Z]+/providers/Microsoft\.Compute/.+$`),
		"azure:///subscriptions/<id>/resourceGroups/<lower-case group>/providers/Microsoft.Compute/virtualMachines/<name>"},
	{"oci://", regexp.MustCompile(`^oci://ocid1\.instance\..+$`), "oci://<instance OCID>"},
	{"openstack://", regexp.MustCompile(`^openstack://[^/]*/[0-9a-f-]{36}$`), "openstack:///<server uuid>"},
}

// nodeProviderID returns the providerID that the machine's Node carries. It
// follows the cloud's rule, not the module's output, where the rule is known.
func (p *play) nodeProviderID(m *Machine) string {
	emitted := ""
	if m.Infra.Machine != nil {
		emitted = m.Infra.Machine.ProviderID
	}
	if p.suffers(m, FaultProviderIDWrong) {
		return emitted + "-of-another"
	}
	if strings.HasPrefix(emitted, "noop://") {
		return fmt.Sprintf("noop:///%s/%s", p.w.Cluster.Namespace, m.Name)
	}
	if s := schemeOf(emitted); s != nil && !s.form.MatchString(emitted) {
		return s.example
	}
	return emitted
}

// schemeOf returns the known scheme of a provider id; nil when it has none.
func schemeOf(id string) *providerScheme {
	for n := range providerSchemes {
		if strings.HasPrefix(id, providerSchemes[n].prefix) {
			return &providerSchemes[n]
		}
	}
	return nil
}
