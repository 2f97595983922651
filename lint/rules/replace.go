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

var poolBootstrapReplace = lint.Rule{
	ID:         "pool/bootstrap-replace",
	Severities: isInfo,
	Roles:      onlyPool,
	Summary:    "`bootstrap_data` reaches an argument whose change replaces a resource, or a resource named in `replace_triggered_by`.",
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
		r.scope(c.Flow.Root(), 0)
	},
}

type replaceSearch struct{ c *lint.Context }

func (r replaceSearch) scope(s *flow.Scope, depth int) {
	const deepest = 32
	if depth > deepest {
		return
	}
	for _, res := range s.Module.Resources {
		if res.Mode == module.Managed {
			r.resource(s, res)
		}
	}
	for _, call := range s.Module.Calls {
		if child := s.Child(call); child != nil {
			r.scope(child, depth+1)
		}
	}
}

func (r replaceSearch) resource(s *flow.Scope, res *module.Resource) {
	const fix = "put the payload where a change is made in place; only kubernetes_version replaces members"
	arguments := replacing[res.Type]
	if res.Type == "aws_instance" && isTrue(res.Body.Attributes()["user_data_replace_on_change"]) {
		arguments = []string{"user_data", "user_data_base64"}
	}
	for _, name := range arguments {
		if flow.IgnoresChanges(res, name) {
			continue
		}
		if a := res.Body.Attributes()[name]; a != nil && r.holdsBootstrap(s, a.Expr) {
			r.c.Infof(a.Range, fix, "%s.%s depends on %s, so each rotation of the payload replaces the resource", res.Address(), name, inputBootstrap)
		}
	}
	for _, expr := range res.Lifecycle.ReplaceTriggeredBy {
		for _, t := range expr.Variables() {
			leaf := flow.Leaf{Scope: s, Traversal: t}
			if by := leaf.Resource(); by != nil && by != res && r.resourceHolds(s, by, t) {
				r.c.Infof(expr.Range(), fix, "%s is replaced with %s, which depends on %s, so each rotation of the payload replaces it", res.Address(), by.Address(), inputBootstrap)
			}
		}
	}
}

// isTrue tells that an argument is the literal true.
func isTrue(a *hcl.Attribute) bool {
	if a == nil || len(a.Expr.Variables()) > 0 {
		return false
	}
	v, diags := a.Expr.Value(nil)
	return !diags.HasErrors() && v.IsKnown() && !v.IsNull() && v.Type() == cty.Bool && v.True()
}

// resourceHolds tells that the part of a resource that a trigger names depends
// on the payload. A trigger that names no argument is about all of them.
func (r replaceSearch) resourceHolds(s *flow.Scope, res *module.Resource, trigger hcl.Traversal) bool {
	named := ""
	if last, ok := trigger[len(trigger)-1].(hcl.TraverseAttr); ok && len(trigger) > 2 {
		named = last.Name
	}
	holds := false
	res.Body.Walk(func(path []string, a *hcl.Attribute) {
		top := a.Name
		if len(path) > 0 {
			top = path[0]
		}
		computed := named == "output" && top == "input"
		if holds || named != "" && named != top && !computed || flow.IgnoresChanges(res, top) {
			return
		}
		holds = r.holdsBootstrap(s, a.Expr)
	})
	return holds
}

func (r replaceSearch) holdsBootstrap(s *flow.Scope, expr hcl.Expression) bool {
	return slices.ContainsFunc(r.c.Flow.Leaves(s, expr), func(l flow.Leaf) bool {
		v := l.Variable()
		return v != nil && l.Scope.Call == nil && v.Name == inputBootstrap
	})
}
