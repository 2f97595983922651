package rules

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

var clusterEndpointProtect = lint.Rule{
	ID:         "cluster/endpoint-protect",
	Severities: isInfo,
	Roles:      onlyCluster,
	Summary:    "A resource behind `control_plane_endpoint` has no `prevent_destroy`.",
	Why:        "The endpoint has to stay for the cluster's life; an approved plan that replaces the resource takes the control plane away from every node.",
	Fix:        "Set `lifecycle.prevent_destroy`, and say in the README how to lift it, since it also blocks the final destroy.",
	Bad: `resource "aws_lb" "api" {
  name = "api"
}

output "control_plane_endpoint" {
  value = {
    host = aws_lb.api.dns_name
    port = 6443
  }
}`,
	Good: `resource "aws_lb" "api" {
  name = "api"

  lifecycle {
    prevent_destroy = true
  }
}

output "control_plane_endpoint" {
  value = {
    host = aws_lb.api.dns_name
    port = 6443
  }
}`,
	Rules: []string{"lint.md 8 G20", "CP-003", "CP-005", "contract.md 9.6"},
	Check: func(c *lint.Context) {
		o := c.Root.Output(outEndpoint)
		if o == nil || o.Value == nil {
			return
		}
		seen := map[*module.Resource]bool{}
		for _, leaf := range c.Flow.Leaves(c.Flow.Root(), o.Value) {
			r := leaf.Resource()
			if r == nil || r.Mode != module.Managed || seen[r] || protected(r) {
				continue
			}
			seen[r] = true
			c.Infof(r.DefRange, "set lifecycle.prevent_destroy, and document how to lift it for the final destroy",
				"%s is behind %s, and nothing keeps an approved plan from replacing it", r.Address(), outEndpoint)
		}
	},
}

// protected tells that prevent_destroy is set, and not to a plain false; an
// expression, which OpenTofu accepts, is taken at its word.
func protected(r *module.Resource) bool {
	a := r.Lifecycle.PreventDestroy
	if a == nil {
		return false
	}
	v, diags := a.Expr.Value(nil)
	return diags.HasErrors() || !v.IsKnown() || !v.IsNull() && !v.RawEquals(cty.False)
}
