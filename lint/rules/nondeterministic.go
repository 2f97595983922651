package rules

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

// nondeterministic are the functions with another result on each run.
var nondeterministic = map[string]bool{"timestamp": true, "plantimestamp": true, "uuid": true, "bcrypt": true}

// judging are the blocks whose expressions decide whether a run may go on, and
// change nothing.
var judging = map[string]bool{
	"check": true, "validation": true, "precondition": true, "postcondition": true, "provisioner": true, "connection": true,
}

var moduleNondeterministic = lint.Rule{
	ID:         "module/nondeterministic",
	Severities: isInfo,
	Summary:    "An expression calls `timestamp()`, `plantimestamp()`, `uuid()` or `bcrypt()`, and nothing ignores the change.",
	Why:        "The result differs on each run, so a second apply with the same inputs is not empty: the contract asks for that (R6), and drift would never end.",
	Fix:        "Keep the value in a resource, such as `terraform_data`, `random_uuid` or `time_static`, or ignore changes of the argument.",
	Bad: `resource "terraform_data" "instance" {
  input = timestamp()
}`,
	Good: `resource "terraform_data" "instance" {
  input = timestamp()

  lifecycle {
    ignore_changes = [input]
  }
}`,
	Rules: []string{"lint.md 8 G9", "contract.md 3 R6"},
	Check: func(c *lint.Context) {
		for _, m := range c.Modules() {
			for _, f := range m.Files {
				if body, ok := f.HCL.Body.(*hclsyntax.Body); ok {
					findCalls(c, m, body, nil)
				}
			}
		}
	},
}

// findCalls reports the calls in a body; res is the resource around, if any.
func findCalls(c *lint.Context, m *module.Module, body *hclsyntax.Body, res *module.Resource) {
	for _, a := range body.Attributes {
		if res != nil && flow.IgnoresChanges(res, a.Name) {
			continue
		}
		reportCalls(c, a.Expr)
	}
	for _, b := range body.Blocks {
		switch {
		case judging[b.Type]:
		case res != nil:
			if !flow.IgnoresChanges(res, b.Type) {
				findCallsInside(c, b.Body)
			}
		case b.Type == "resource" && len(b.Labels) == 2:
			findCalls(c, m, b.Body, m.Resource(b.Labels[0]+"."+b.Labels[1]))
		default:
			findCalls(c, m, b.Body, nil)
		}
	}
}

func findCallsInside(c *lint.Context, body *hclsyntax.Body) {
	for _, a := range body.Attributes {
		reportCalls(c, a.Expr)
	}
	for _, b := range body.Blocks {
		if !judging[b.Type] {
			findCallsInside(c, b.Body)
		}
	}
}

func reportCalls(c *lint.Context, expr hclsyntax.Expression) {
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && nondeterministic[call.Name] {
			c.Infof(call.Range(), "keep the value in a resource, or ignore changes of the argument",
				"%s() gives another result on each run, so no two runs agree", call.Name)
		}
		return nil
	})
}

var moduleEphemeral = lint.Rule{
	ID:         "module/ephemeral",
	Severities: errorOrInfo,
	Summary:    "A contract output is ephemeral (error), or a contract input is (info).",
	Why:        "The generated root's outputs are kept in the state, which takes no ephemeral value; and an ephemeral input fits into few arguments.",
	Fix:        "Remove `ephemeral = true`; outputs and inputs of the contract are stored.",
	Bad: `output "provider_id" {
  value     = terraform_data.instance.id
  ephemeral = true
}`,
	Good: `output "provider_id" {
  value = terraform_data.instance.id
}`,
	Rules: []string{"lint.md 8 G7", "contract.md 5"},
	Check: func(c *lint.Context) {
		for _, v := range declaredInputs(c) {
			if v.Ephemeral {
				c.Infof(v.RangeOf("ephemeral"), "remove ephemeral = true", "the contract input %q is stored with the object, so it is not ephemeral", v.Name)
			}
		}
		for _, row := range c.Spec.Outputs {
			if o := c.Root.Output(row.Name); o != nil && o.Ephemeral {
				c.Errorf(o.RangeOf("ephemeral"), "remove ephemeral = true", "the contract output %q is kept in the state, which takes no ephemeral value", o.Name)
			}
		}
	},
}
