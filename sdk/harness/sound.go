package harness

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/captf-toolkit/captf/contract"
)

// The contract says of these values only how long they are. What is judged
// here is what their readers can do with them.

// hostForm is a DNS name as Kubernetes accepts it in a kubeconfig, in a
// certificate and in kubeadm's configuration (RFC 1123, lower case).
var hostForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// maxHostName is the length of the longest DNS name.
const maxHostName = 253

// badHost says why nobody can connect to the host; "" when somebody can.
func badHost(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "it has a zone, which means nothing on another machine"
		}
		return noTarget(addr)
	}
	unbracketed := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	_, addrErr := netip.ParseAddr(unbracketed)
	_, portErr := netip.ParseAddrPort(host)
	name, port, hasPort := strings.Cut(host, ":")
	switch {
	case strings.Contains(host, "://"):
		return "it has a scheme"
	case strings.ContainsFunc(host, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "it has whitespace or control characters"
	case strings.Contains(host, "/"):
		return "it has a slash"
	case unbracketed != host && addrErr == nil:
		return "it has brackets, which are added where they are needed"
	case portErr == nil, hasPort && hostForm.MatchString(name) && strings.Trim(port, "0123456789") == "":
		return "it has a port, which belongs into port"
	case len(host) > maxHostName:
		return fmt.Sprintf("it has %d characters, and a DNS name has at most %d", len(host), maxHostName)
	case !hostForm.MatchString(host):
		return "it is neither an IP address nor a DNS name in lower case"
	case host == "localhost" || strings.HasSuffix(host, ".localhost"):
		return "it is a name of every machine for itself"
	case numericLabel.MatchString(host):
		return "its last label is a number, so it is read as an IPv4 address, and it is none"
	}
	return ""
}

// numericLabel is a last label that makes a resolver read the host as an IPv4
// address (RFC 3696, section 2; no top-level domain is a number).
var numericLabel = regexp.MustCompile(`(^|\.)([0-9]+|0x[0-9a-f]*)$`)

// noTarget says why no other machine can be reached at the address; "" when one
// can.
func noTarget(addr netip.Addr) string {
	addr = addr.Unmap()
	switch {
	case addr.IsUnspecified():
		return "it is the unspecified address"
	case addr.IsLoopback():
		return "it is a loopback address, with which every machine reaches itself"
	case addr.IsMulticast() || addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "it is the address of no single machine"
	}
	return ""
}

// judgeHost judges that the endpoint's host is one (CP-001).
func judgeHost(e *contract.Endpoint) finding {
	why := badHost(e.Host)
	return judge(why == "", "CP-001", contract.RoleCluster,
		fmt.Sprintf("nobody can connect to control_plane_endpoint.host %q: %s; it must be an IP address or a DNS name, nothing else", e.Host, why))
}

// oddProviderID tells that a provider id has what no Node's has.
func oddProviderID(id string) bool {
	return strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
}

// badProviderID says why no Node can carry the provider id; "" when one can.
func badProviderID(id string) string {
	if oddProviderID(id) {
		return fmt.Sprintf("%q has whitespace or control characters, which no Node's providerID has", id)
	}
	if s := schemeOf(id); s != nil && !s.form.MatchString(id) {
		return fmt.Sprintf("%q is not in the form of its cloud, %s", id, s.example)
	}
	return ""
}

// badAddress returns the first address that is not what its type says; "" when
// all are.
func badAddress(addresses []contract.Address) string {
	for _, a := range addresses {
		if a.Type != contract.AddressInternalIP && a.Type != contract.AddressExternalIP {
			continue
		}
		addr, err := netip.ParseAddr(a.Address)
		if err != nil {
			return fmt.Sprintf("the %s %q is no IP address", a.Type, a.Address)
		}
		if why := noTarget(addr); why != "" {
			return fmt.Sprintf("the %s %q leads to no other machine: %s", a.Type, a.Address, why)
		}
	}
	return ""
}

// noteHostnames says that a Hostname is none. The contract takes it, and Cluster
// API only copies it; whoever resolves it or compares it with a Node's name does not.
func (p *play) noteHostnames(addresses []contract.Address) {
	for _, a := range addresses {
		if !p.hostnameNoted && a.Type == contract.AddressHostname && (len(a.Address) > maxHostName || !hostForm.MatchString(strings.ToLower(a.Address))) {
			p.rec.note(contract.RoleMachine, p.cfg.Modules.Module(contract.RoleMachine).Outputs["addresses"],
				"addresses has the Hostname %q, which is no DNS name (letters, digits, hyphens and dots): no Node can have it as its name", a.Address)
			p.hostnameNoted = true
		}
	}
}

// sharedAddress returns an InternalIP that both have; "" when there is none.
func sharedAddress(a, b []contract.Address) string {
	for _, one := range a {
		if one.Type == contract.AddressInternalIP && slices.Contains(b, one) {
			return one.Address
		}
	}
	return ""
}

// judgeSharedAddress judges that no other live machine of the story has an
// InternalIP of this one (CP-042).
func (p *play) judgeSharedAddress(i *Infra) {
	for _, m := range p.w.Machines {
		other := m.Infra
		if other == i || other.Machine == nil || other.Gone || other.Deleting || i.Deleting {
			continue
		}
		if address := sharedAddress(i.Machine.Addresses, other.Machine.Addresses); address != "" {
			p.rec.fail("CP-042", i.Role, fmt.Sprintf("%s and %s both have the InternalIP %q", other.Ref(), i.Ref(), address))
			return
		}
	}
}

// judgeDomainNames judges that failure domains keep their names (CP-014): a
// machine that was placed in one stays there. New ones may be added.
func judgeDomainNames(before, after []contract.FailureDomain, by string) finding {
	var gone []string
	names := domainNames(after)
	for _, name := range domainNames(before) {
		if !slices.Contains(names, name) {
			gone = append(gone, fmt.Sprintf("%q", name))
		}
	}
	return judge(len(gone) == 0, "CP-014", contract.RoleCluster,
		fmt.Sprintf("%s takes away the failure domain %s, which machines may be in; left are %q", by, strings.Join(gone, ", "), names))
}

// judgeMembers judges the members that a pool lists, one by one (CP-063).
func judgeMembers(out *contract.PoolOutputs, run *Run) []finding {
	var fs []finding
	fail := func(format string, args ...any) {
		fs = append(fs, finding{id: "CP-063", role: contract.RoleMachinePool, status: StatusFailed, reason: fmt.Sprintf(format, args...)})
	}
	for _, id := range out.ProviderIDList {
		if why := badProviderID(id); why != "" {
			fail("provider_id_list: %s", why)
			break
		}
	}
	var emitted []json.RawMessage
	_ = json.Unmarshal(run.Values.Outputs["instances"], &emitted) // decoding has reported what is no list
	if len(emitted) == len(out.Instances) {                       // a longer list was cut
		if reason := strayInstance(out); reason != "" {
			fail("%s", reason)
		}
	}
	for _, i := range out.Instances {
		if why := badAddress(i.Addresses); why != "" {
			fs = append(fs, finding{id: idContract + "instances", role: contract.RoleMachinePool, status: StatusFailed,
				reason: fmt.Sprintf("instances: %s of the member %q", why, i.ProviderID)})
			break
		}
	}
	return fs
}

// strayInstance says which member stands in one of provider_id_list and
// instances only; "" when none does. A pool may leave instances empty, and
// tell there of members that are terminated.
func strayInstance(out *contract.PoolOutputs) string {
	if len(out.Instances) == 0 {
		return ""
	}
	described := map[string]bool{}
	for _, i := range out.Instances {
		described[i.ProviderID] = true
		if i.State != contract.HealthTerminated && !slices.Contains(out.ProviderIDList, i.ProviderID) {
			return fmt.Sprintf("instances has a member %q that is not in provider_id_list", i.ProviderID)
		}
	}
	for _, id := range out.ProviderIDList {
		if !described[id] {
			return fmt.Sprintf("provider_id_list has a member %q that is not in instances", id)
		}
	}
	return ""
}

// sharedMember returns a member that both pools list; "" when there is none.
func sharedMember(ours, theirs []string) string {
	for _, id := range ours {
		if slices.Contains(theirs, id) {
			return id
		}
	}
	return ""
}
