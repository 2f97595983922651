package rules

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

// inputInitialized tells a cluster module that the API of its cluster answers.
const inputInitialized = "control_plane_initialized"

// kubernetesProviders are the types of providers whose resources need a
// Kubernetes API, whoever makes them.
var kubernetesProviders = map[string]bool{
	"flux": true, "helm": true, "kubectl": true, "kubernetes": true, "kubernetes-alpha": true, "kustomization": true,
}

// localData are the data sources of these providers that read files only.
var localData = map[string]bool{
	"helm_template": true, "kubectl_file_documents": true, "kubectl_filename_list": true, "kubectl_path_documents": true,
	"kustomization_build": true, "kustomization_overlay": true,
}

var cpWorkloadAPI = lint.Rule{
	ID:         "cp/workload-api",
	Severities: isWarning,
	Summary:    "A resource or data source of a Kubernetes provider (kubernetes, helm, kubectl, kustomization, flux) is not made conditional on `control_plane_initialized`; in a machine or a pool, where there is no such input, any is. Modules whose machines are objects of KubeVirt are left out.",
	Why:        "The first apply of a cluster comes before any node, so no API answers and the cluster is never provisioned. Machines and pools are destroyed when theirs may be gone. The management cluster's API is not for modules at all.",
	Fix:        "In a cluster module set `count` or `for_each` from `var.control_plane_initialized`; leave machines and pools to the cloud's API, and add-ons to whoever installs add-ons.",
	Bad: `resource "helm_release" "cni" {
  name = "cilium"
}`,
	Good: `resource "helm_release" "cni" {
  count = var.control_plane_initialized ? 1 : 0
  name  = "cilium"
}

variable "control_plane_initialized" {
  type = bool
}`,
	Rules: []string{"CP-007", "CP-039", "CP-071"},
	Check: func(c *lint.Context) {
		if !usesKubernetes(c) || virtualMachines(c) {
			return
		}
		_, gate := c.Spec.Input(inputInitialized)
		for _, s := range scopes(c.Flow.Root()) {
			for _, r := range s.Module.Resources {
				switch {
				case !needsKubernetes(s.Module, r):
				case !gate:
					c.Warnf(r.DefRange, "do without the Kubernetes API, so that a %s can be made and destroyed whatever the state of its cluster",
						"%s needs a Kubernetes API, which may not be there when a %s is made, and need not be when it is destroyed", r.Address(), c.Role)
				case !gated(c, place{scope: s, res: r}, map[*module.Resource]bool{}):
					c.Warnf(r.DefRange, "set count or for_each from var."+inputInitialized,
						"%s needs a Kubernetes API, but the first apply comes before any node, and nothing makes it wait for var.%s", r.Address(), inputInitialized)
				}
			}
		}
	},
}

func usesKubernetes(c *lint.Context) bool {
	return slices.ContainsFunc(c.Modules(), func(m *module.Module) bool {
		return slices.ContainsFunc(m.Resources, func(r *module.Resource) bool { return needsKubernetes(m, r) })
	})
}

// needsKubernetes tells that a resource cannot be planned or made without a Kubernetes API.
func needsKubernetes(m *module.Module, r *module.Resource) bool {
	if r.Mode == module.Data && localData[r.Type] {
		return false
	}
	name, _, _ := strings.Cut(r.Type, "_")
	if r.Provider != nil {
		name = r.Provider.Name
	}
	if p := m.Required(name); p != nil {
		name = path.Base(p.Address(m.Runtime))
	}
	return kubernetesProviders[name]
}

// virtualMachines tells that the machines of the module are objects of KubeVirt,
// whose API is the cloud's.
func virtualMachines(c *lint.Context) bool {
	return slices.ContainsFunc(c.Modules(), func(m *module.Module) bool {
		return slices.ContainsFunc(m.Files, func(f *module.File) bool { return bytes.Contains(f.Bytes, []byte("kubevirt.io/")) })
	})
}

// gated tells that how often a resource is made, or whether the module that it is
// in is called, depends on the input, be it through another resource that is gated.
func gated(c *lint.Context, p place, seen map[*module.Resource]bool) bool {
	seen[p.res] = true
	repeats := []*hcl.Attribute{p.res.Count, p.res.ForEach, p.res.Enabled}
	for s := p.scope; ; s = s.Up {
		for _, a := range repeats {
			if a != nil && slices.ContainsFunc(c.Flow.Leaves(s, a.Expr), func(l flow.Leaf) bool { return isGate(c, l, seen) }) {
				return true
			}
		}
		if s.Call == nil {
			return false
		}
		repeats = []*hcl.Attribute{s.Call.Count, s.Call.ForEach, s.Call.Enabled}
	}
}

func isGate(c *lint.Context, l flow.Leaf, seen map[*module.Resource]bool) bool {
	if v := l.Variable(); v != nil {
		return v.Name == inputInitialized && l.Scope.Call == nil
	}
	r := l.Resource()
	return r != nil && !seen[r] && gated(c, place{scope: l.Scope, res: r}, seen)
}
