package rules

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

// replacing lists, by resource type, the arguments and blocks whose change
// replaces the resource, where the resource is an instance, a group, or stands
// for one. Launch templates and configurations are left out: replacing one
// touches no member.
var replacing = map[string][]string{
	"terraform_data": {"triggers_replace"}, "null_resource": {"triggers"},
	"random_id": {"keepers"}, "random_pet": {"keepers"}, "random_string": {"keepers"}, "random_uuid": {"keepers"},
	"random_integer": {"keepers"}, "random_shuffle": {"keepers"}, "time_static": {"triggers"}, "time_rotating": {"triggers"},
	"azurerm_linux_virtual_machine":   {"custom_data"},
	"azurerm_windows_virtual_machine": {"custom_data"},
	"digitalocean_droplet":            {"user_data"},
	"google_compute_instance":         {"metadata_startup_script"},
	"hcloud_server":                   {"user_data"},
	"ibm_is_instance":                 {"user_data"},
	"linode_instance":                 {"metadata"},
	"oci_core_instance":               {"metadata"},
	"openstack_compute_instance_v2":   {"user_data"},
}

// groups are the resource types, beside those that are replaced on a change, which
// are instances or groups of them.
var groups = map[string]bool{
	"aws_instance": true, "aws_autoscaling_group": true, "aws_eks_node_group": true, "aws_ec2_fleet": true,
	"azurerm_linux_virtual_machine_scale_set": true, "azurerm_windows_virtual_machine_scale_set": true,
	"azurerm_orchestrated_virtual_machine_scale_set": true,
	"google_compute_instance_group_manager":          true, "google_compute_region_instance_group_manager": true,
	"ibm_is_instance_group": true, "oci_core_instance_pool": true,
}

var poolBootstrapReplace = lint.Rule{
	ID:         "pool/bootstrap-replace",
	Severities: isInfo,
	Roles:      onlyPool,
	Summary:    "`bootstrap_data` reaches an argument whose change replaces a resource, or a resource named in `replace_triggered_by`, or decides which instances of a resource `count` or `for_each` makes, directly or through locals, local modules, data sources and other resources.",
	Why:        "The payload is rewritten every few minutes while a pool waits for Nodes and later on; each time the members would be replaced.",
	Fix:        "Put the payload where a change is made in place, such as a launch template, and let `kubernetes_version` alone replace members.",
	Bad: `resource "terraform_data" "member" {
  triggers_replace = sha256(var.bootstrap_data)
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}`,
	Good: `resource "terraform_data" "member" {
  input            = sha256(var.bootstrap_data)
  triggers_replace = var.kubernetes_version
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}`,
	Rules: []string{"lint.md 8 G18", "contract.md 11.5", "CP-061"},
	Check: func(c *lint.Context) {
		r := replaceSearch{c: c}
		for _, s := range scopes(c.Flow.Root()) {
			r.scope(s)
		}
	},
}

type replaceSearch struct{ c *lint.Context }

func (r replaceSearch) scope(s *flow.Scope) {
	for _, res := range s.Module.Resources {
		if res.Mode == module.Managed {
			r.resource(s, res)
		}
	}
	for _, call := range s.Module.Calls {
		if call.Module != nil && holdsMembers(call.Module) {
			r.instances(s, "module."+call.Name, call.Count, call.ForEach)
		}
	}
}

func (r replaceSearch) resource(s *flow.Scope, res *module.Resource) {
	const fix = "put the payload where a change is made in place; only kubernetes_version replaces members"
	for _, name := range replacedBy(res) {
		if flow.IgnoresChanges(res, name) {
			continue
		}
		if a := res.Body.Attributes()[name]; a != nil && r.holdsBootstrap(s, a.Expr, map[partKey]bool{}) {
			r.c.Infof(a.Range, fix, "%s.%s depends on %s, so each rotation of the payload replaces the resource", res.Address(), name, inputBootstrap)
		}
	}
	if isMember(res) {
		r.instances(s, res.Address(), res.Count, res.ForEach)
	}
	for _, expr := range res.Lifecycle.ReplaceTriggeredBy {
		for _, t := range expr.Variables() {
			leaf := flow.Leaf{Scope: s, Traversal: t}
			if by := leaf.Resource(); by != nil && by != res && r.dependsOn(leaf, map[partKey]bool{}) {
				r.c.Infof(expr.Range(), fix, "%s is replaced with %s, which depends on %s, so each rotation of the payload replaces it", res.Address(), by.Address(), inputBootstrap)
			}
		}
	}
}

// instances reports a count or for_each that depends on the payload: an instance
// with another key is another instance.
func (r replaceSearch) instances(s *flow.Scope, address string, repeats ...*hcl.Attribute) {
	for _, a := range repeats {
		if a != nil && r.anyBootstrap(r.c.Flow.InstanceLeaves(s, a.Expr), map[partKey]bool{}) {
			r.c.Infof(a.Range, "use keys that stay the same, and put the payload where a change is made in place",
				"%s of %s depends on %s, so each rotation of the payload destroys instances and creates others", a.Name, address, inputBootstrap)
		}
	}
}

// isMember tells that a resource is an instance, a group, or stands for one.
func isMember(res *module.Resource) bool {
	return res.Mode == module.Managed && (groups[res.Type] || replacing[res.Type] != nil)
}

// holdsMembers tells that a module, or one that it calls, has such a resource.
func holdsMembers(m *module.Module) bool {
	return slices.ContainsFunc(m.Tree(), func(m *module.Module) bool { return slices.ContainsFunc(m.Resources, isMember) })
}

// isTrue tells that an argument is the literal true.
func isTrue(a *hcl.Attribute) bool {
	if a == nil || len(a.Expr.Variables()) > 0 {
		return false
	}
	v, diags := a.Expr.Value(nil)
	return !diags.HasErrors() && v.IsKnown() && !v.IsNull() && v.Type() == cty.Bool && v.True()
}

// partKey is an attribute of a resource, or a part of it; with an empty name all
// of the resource.
type partKey struct {
	res        *module.Resource
	name, part string
}

// holdsBootstrap tells that a value depends on the payload, be it through locals
// and local modules, or through what resources and data sources make of it.
func (r replaceSearch) holdsBootstrap(s *flow.Scope, expr hcl.Expression, seen map[partKey]bool) bool {
	return r.anyBootstrap(r.c.Flow.Leaves(s, expr), seen)
}

// anyBootstrap tells that one of the references is to the payload, or to what
// depends on it.
func (r replaceSearch) anyBootstrap(leaves []flow.Leaf, seen map[partKey]bool) bool {
	return slices.ContainsFunc(leaves, func(l flow.Leaf) bool {
		if v := l.Variable(); v != nil {
			return l.Scope.Call == nil && v.Name == inputBootstrap
		}
		return r.dependsOn(l, seen)
	})
}

// dependsOn tells that the part of a resource or data source that a reference
// names depends on the payload. A reference that names no attribute is about
// all of them.
func (r replaceSearch) dependsOn(leaf flow.Leaf, seen map[partKey]bool) bool {
	res := leaf.Resource()
	if res == nil {
		return false
	}
	name, rest := attributeNamed(leaf.Path())
	key := partKey{res, name, flow.PathText(rest)}
	if seen[key] {
		return false
	}
	seen[key] = true
	holds := false
	res.Body.Walk(func(path []string, a *hcl.Attribute) {
		top := a.Name
		if len(path) > 0 {
			top = path[0]
		}
		if holds || !determines(res, top, name) || flow.IgnoresChanges(res, top) {
			return
		}
		var steps hcl.Traversal
		if len(path) == 0 && (top == name || handsThrough(res, top, name)) {
			steps = rest // a part of this very argument
		}
		holds = r.anyBootstrap(r.c.Flow.PartLeaves(leaf.Scope, a.Expr, steps), seen)
	})
	return holds
}

// determines tells that an argument or block determines an attribute: it is that
// attribute, or the attribute is computed from it. What a data source computes
// depends on all its arguments, and what a resource computes is new only when
// the resource is replaced.
func determines(res *module.Resource, argument, attribute string) bool {
	switch {
	case attribute == "" || attribute == argument:
		return true
	case isSet(res, attribute):
		return false
	case res.Mode == module.Data:
		return true
	case res.Type == "terraform_data" && attribute == "output":
		return handsThrough(res, argument, attribute)
	}
	return slices.Contains(replacedBy(res), argument)
}

// handsThrough tells that an attribute is the value of the argument.
func handsThrough(res *module.Resource, argument, attribute string) bool {
	return res.Type == "terraform_data" && res.Mode == module.Managed && argument == "input" && attribute == "output"
}

// isSet tells that the resource has an argument or block with the name.
func isSet(res *module.Resource, name string) bool {
	return res.Body.Attributes()[name] != nil ||
		slices.ContainsFunc(res.Body.Blocks(), func(b *module.Block) bool { return b.Type == name })
}

// attributeNamed returns the attribute of a resource or data source that a
// reference names, behind an index if there is one, and the steps from it; the
// name is empty when it names none.
func attributeNamed(t hcl.Traversal) (name string, rest hcl.Traversal) {
	steps := 2
	if mode := t.RootName(); mode == "data" || mode == "ephemeral" {
		steps = 3
	}
	for i := steps; i < len(t); i++ {
		if attr, ok := t[i].(hcl.TraverseAttr); ok {
			return attr.Name, t[i+1:]
		}
	}
	return "", nil
}

// replacedBy lists the arguments and blocks whose change replaces the resource.
func replacedBy(res *module.Resource) []string {
	if res.Type == "aws_instance" && isTrue(res.Body.Attributes()["user_data_replace_on_change"]) {
		return []string{"user_data", "user_data_base64"}
	}
	return replacing[res.Type]
}
