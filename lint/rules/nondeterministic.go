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
			w := callWalk{module: m, locals: map[string]bool{}}
			for _, f := range m.Files {
				if body, ok := f.HCL.Body.(*hclsyntax.Body); ok {
					w.body(body, nil, false)
				}
			}
			w.report(c)
		}
	},
}

// callWalk collects the calls in a module, and the locals that something uses
// whose changes are not ignored.
type callWalk struct {
	module *module.Module
	calls  []*hclsyntax.FunctionCallExpr
	// locals holds every local that is used: true if a change of it shows.
	locals map[string]bool
}

// body walks a body; res is the resource around, if any, ignored tells that
// changes of what is here show nowhere.
func (w *callWalk) body(body *hclsyntax.Body, res *module.Resource, ignored bool) {
	for _, a := range body.Attributes {
		w.expr(a.Expr, ignored || res != nil && flow.IgnoresChanges(res, a.Name))
	}
	for _, b := range body.Blocks {
		switch {
		case judging[b.Type]:
			w.body(b.Body, nil, true)
		case res != nil:
			w.body(b.Body, nil, ignored || flow.IgnoresChanges(res, b.Type))
		case b.Type == "resource" && len(b.Labels) == 2:
			w.body(b.Body, w.module.Resource(b.Labels[0]+"."+b.Labels[1]), ignored)
		case b.Type == "locals": // read from the module, as overrides leave them
		default:
			w.body(b.Body, nil, ignored)
		}
	}
}

func (w *callWalk) expr(expr hclsyntax.Expression, ignored bool) {
	for _, name := range localsIn(expr) {
		w.locals[name] = w.locals[name] || !ignored
	}
	if !ignored {
		w.calls = append(w.calls, callsIn(expr)...)
	}
}

// report reports the calls, those in locals only if a change of the local shows,
// or nobody uses it yet.
func (w *callWalk) report(c *lint.Context) {
	for _, ref := range c.References(w.module) { // JSON files are not walked
		if name := ref.Name(); ref.Is("local", name) && module.IsJSON(ref.Range()) {
			w.locals[name] = true
		}
	}
	for changed := true; changed; { // a local shows where it is used by one that does
		changed = false
		for _, l := range w.module.Locals {
			shows, used := w.locals[l.Name]
			for _, name := range localsIn(l.Expr) {
				was, known := w.locals[name]
				w.locals[name] = was || shows || !used
				changed = changed || !known || was != w.locals[name]
			}
		}
	}
	for _, l := range w.module.Locals {
		expr, ok := l.Expr.(hclsyntax.Expression)
		if shows, used := w.locals[l.Name]; ok && (shows || !used) {
			w.calls = append(w.calls, callsIn(expr)...)
		}
	}
	for _, call := range w.calls {
		c.Infof(call.Range(), "keep the value in a resource, or ignore changes of the argument",
			"%s() gives another result on each run, so no two runs agree", flow.FunctionName(call))
	}
}

func localsIn(expr hcl.Expression) []string {
	var names []string
	for _, t := range expr.Variables() {
		if t.RootName() == "local" && len(t) > 1 {
			if step, ok := t[1].(hcl.TraverseAttr); ok {
				names = append(names, step.Name)
			}
		}
	}
	return names
}

func callsIn(expr hclsyntax.Expression) []*hclsyntax.FunctionCallExpr {
	var calls []*hclsyntax.FunctionCallExpr
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && nondeterministic[flow.FunctionName(call)] {
			calls = append(calls, call)
		}
		return nil
	})
	return calls
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
