package rules

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

var outputProviderIDListShape = lint.Rule{
	ID:         "output/provider-id-list-shape",
	Severities: errorOrWarning,
	Roles:      onlyPool,
	Summary:    "`provider_id_list` is not declared (error), filters members by health or state, or is not wrapped in `sort()` (warning), unless `keys()` or `toset()`, which sort as well, is in its place.",
	Why:        "Cluster API deletes the Node of every member that leaves the list, so a filter on health removes live Nodes; an order that is not fixed changes the output on each refresh.",
	Fix:        "List every member that is not terminated, and wrap the output's own expression in `sort()`. `--fix` does the latter.",
	Bad: `output "provider_id_list" {
  value = [for m in local.members : m.id if m.state == "running"]
}`,
	Good: `output "provider_id_list" {
  value = sort([for m in local.members : m.id if m.state != "terminated"])
}`,
	Rules: []string{"lint.md 4", "lint.md 4.1", "lint.md 9 L7", "CP-063"},
	Check: func(c *lint.Context) {
		if _, ok := c.Spec.Output(outProviderIDs); !ok {
			return
		}
		o := c.Root.Output(outProviderIDs)
		if o == nil && !c.Tree.Complete(c.Root) {
			return
		}
		if o == nil {
			c.Errorf(hcl.Range{}, "add output \""+outProviderIDs+"\" with the sorted ids of every member that is not terminated",
				"the contract output %q is not declared", outProviderIDs)
			return
		}
		expr, ok := o.Value.(hclsyntax.Expression)
		if !ok {
			return // JSON syntax is not scanned
		}
		if !IsSorted(expr) {
			c.Warnf(o.RangeOf("value"), "wrap the expression in sort(), here and not in a local; --fix does it",
				"the order of %s is not fixed, so a refresh may show a change where there is none", outProviderIDs)
		}
		if at, found := healthFilter(expr); found {
			c.Warnf(at, "list every member that is not terminated; leave members out by their terminated states only",
				"%s leaves out members by their health or state, and Cluster API deletes the Node of each member that leaves the list", outProviderIDs)
		}
	},
}

// keepsOrder are the functions around sort() after which the order is still
// fixed; those with all take several lists, each of which has to pass.
var keepsOrder = map[string]struct{ all bool }{
	"distinct": {}, "compact": {}, "reverse": {}, "tolist": {}, "nonsensitive": {}, "sensitive": {},
	"try": {all: true}, "coalescelist": {all: true},
}

// sortedByLanguage are the functions whose result has the order of its strings: by
// definition sort and keys, and sets of strings, which are walked in that order.
var sortedByLanguage = map[string]bool{"sort": true, "keys": true, "toset": true}

// IsSorted tells that the list which an expression makes has a fixed order by
// the expression itself: it is empty, or sort(), keys() or toset() is outermost but for functions
// that keep the order, in each branch of a conditional (lint.md 4.1, L7).
func IsSorted(expr hclsyntax.Expression) bool {
	switch e := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return IsSorted(e.Expression)
	case *hclsyntax.ConditionalExpr:
		return IsSorted(e.TrueResult) && IsSorted(e.FalseResult)
	case *hclsyntax.TupleConsExpr:
		return len(e.Exprs) == 0
	case *hclsyntax.LiteralValueExpr:
		return e.Val.IsNull()
	case *hclsyntax.FunctionCallExpr:
		name := flow.FunctionName(e)
		if sortedByLanguage[name] {
			return true
		}
		f, ok := keepsOrder[name]
		if !ok || len(e.Args) == 0 {
			return false
		}
		for i, arg := range e.Args {
			if (i == 0 || f.all) && !IsSorted(arg) {
				return false
			}
		}
		return true
	}
	return false
}

// healthNames are the names, in lower case, that tell how a member is doing.
var healthNames = []string{"health", "healthy", "state", "status", "lifecycle_state", "phase", "ready"}

// tellsHealth tells that the last part of a name is one of healthNames.
func tellsHealth(name string) bool { return slices.Contains(healthNames, strings.ToLower(name)) }

// terminatedStates are the values by which members may be left out.
var terminatedStates = map[string]bool{
	"terminated": true, "terminating": true, "shutting-down": true, "shutting_down": true, "deleting": true, "deleted": true,
}

// healthFilter finds a for expression that leaves out members by their health.
func healthFilter(expr hclsyntax.Expression) (at hcl.Range, found bool) {
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		f, ok := n.(*hclsyntax.ForExpr)
		if ok && !found && f.CondExpr != nil && mentionsHealth(f.CondExpr) {
			at, found = f.CondExpr.Range(), true
		}
		return nil
	})
	return at, found
}

// mentionsHealth tells that a condition depends on a member's health in another
// way than leaving out terminated members.
func mentionsHealth(expr hclsyntax.Expression) bool {
	if keepsLiving(expr) {
		return false
	}
	switch e := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return mentionsHealth(e.Expression)
	case *hclsyntax.BinaryOpExpr:
		return mentionsHealth(e.LHS) || mentionsHealth(e.RHS)
	case *hclsyntax.UnaryOpExpr:
		return mentionsHealth(e.Val)
	case *hclsyntax.FunctionCallExpr:
		if flow.FunctionName(e) == "alltrue" && len(e.Args) == 1 {
			if list, ok := e.Args[0].(*hclsyntax.TupleConsExpr); ok {
				return slices.ContainsFunc(list.Exprs, mentionsHealth)
			}
		}
	}
	found := false
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		found = found || isHealthName(n)
		return nil
	})
	return found
}

// keepsLiving tells that a condition holds for every member that is not
// terminated: it leaves out terminated ones at most.
func keepsLiving(expr hclsyntax.Expression) bool {
	switch e := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return keepsLiving(e.Expression)
	case *hclsyntax.UnaryOpExpr:
		return e.Op == hclsyntax.OpLogicalNot && selectsTerminated(e.Val)
	case *hclsyntax.BinaryOpExpr:
		switch e.Op {
		case hclsyntax.OpLogicalAnd:
			return keepsLiving(e.LHS) && keepsLiving(e.RHS)
		case hclsyntax.OpLogicalOr:
			return keepsLiving(e.LHS) || keepsLiving(e.RHS)
		case hclsyntax.OpNotEqual:
			return isTerminated(e.LHS) || isTerminated(e.RHS) || judged(e, true, selectsTerminated) || judged(e, false, keepsLiving)
		case hclsyntax.OpEqual:
			return judged(e, false, selectsTerminated) || judged(e, true, keepsLiving)
		}
	case *hclsyntax.FunctionCallExpr:
		if len(e.Args) != 1 {
			return false
		}
		list, ok := e.Args[0].(*hclsyntax.TupleConsExpr)
		if !ok || len(list.Exprs) == 0 {
			return false
		}
		switch flow.FunctionName(e) {
		case "alltrue":
			return !slices.ContainsFunc(list.Exprs, func(x hclsyntax.Expression) bool { return !keepsLiving(x) })
		case "anytrue":
			return slices.ContainsFunc(list.Exprs, keepsLiving)
		}
	}
	return false
}

// judged tells that a comparison is between the literal and a condition of a kind.
func judged(e *hclsyntax.BinaryOpExpr, literal bool, kind func(hclsyntax.Expression) bool) bool {
	return isBool(e.LHS, literal) && kind(e.RHS) || isBool(e.RHS, literal) && kind(e.LHS)
}

func isBool(expr hclsyntax.Expression, want bool) bool {
	l, ok := expr.(*hclsyntax.LiteralValueExpr)
	return ok && l.Val.RawEquals(cty.BoolVal(want))
}

func isHealthName(n hclsyntax.Node) bool {
	switch n := n.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return tellsHealth(flow.LastName(n.Traversal))
	case *hclsyntax.RelativeTraversalExpr:
		return tellsHealth(flow.LastName(n.Traversal))
	case *hclsyntax.IndexExpr:
		key, ok := literalString(n.Key)
		return ok && tellsHealth(key)
	}
	return false
}

// selectsTerminated tells that a condition holds for terminated members only:
// x == "terminated" or contains(["terminated", …], x), joined by or.
func selectsTerminated(expr hclsyntax.Expression) bool {
	switch e := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return selectsTerminated(e.Expression)
	case *hclsyntax.BinaryOpExpr:
		if e.Op == hclsyntax.OpLogicalOr {
			return selectsTerminated(e.LHS) && selectsTerminated(e.RHS)
		}
		return e.Op == hclsyntax.OpEqual && (isTerminated(e.LHS) || isTerminated(e.RHS))
	case *hclsyntax.FunctionCallExpr:
		if flow.FunctionName(e) != "contains" || len(e.Args) != 2 {
			return false
		}
		states, ok := listLiteral(e.Args[0])
		if !ok || len(states.Exprs) == 0 {
			return false
		}
		for _, s := range states.Exprs {
			if !isTerminated(s) {
				return false
			}
		}
		return true
	}
	return false
}

// listLiteral returns the list that is written out, as a list or made a set.
func listLiteral(expr hclsyntax.Expression) (*hclsyntax.TupleConsExpr, bool) {
	switch e := expr.(type) {
	case *hclsyntax.TupleConsExpr:
		return e, true
	case *hclsyntax.ParenthesesExpr:
		return listLiteral(e.Expression)
	case *hclsyntax.FunctionCallExpr:
		if name := flow.FunctionName(e); (name == "toset" || name == "tolist") && len(e.Args) == 1 {
			return listLiteral(e.Args[0])
		}
	}
	return nil, false
}

func isTerminated(expr hclsyntax.Expression) bool {
	s, ok := literalString(expr)
	return ok && terminatedStates[strings.ToLower(s)]
}

// literalString returns the value of a string literal.
func literalString(expr hclsyntax.Expression) (string, bool) {
	if p, ok := expr.(*hclsyntax.ParenthesesExpr); ok {
		return literalString(p.Expression)
	}
	if len(expr.Variables()) > 0 {
		return "", false
	}
	switch expr.(type) {
	case *hclsyntax.TemplateExpr, *hclsyntax.LiteralValueExpr:
	default:
		return "", false
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}

// desiredCapacity are the arguments that hold the wanted size of a group
// (lint.md 4.6).
var desiredCapacity = map[string]bool{
	"desired_capacity": true, "desired_count": true, "desired_size": true, "target_size": true,
	"instances": true, "instance_count": true, "capacity": true, "size": true, "node_count": true,
	"replicas": true, "sku": true,
}

var poolAutoscalingIgnoreChanges = lint.Rule{
	ID:         "pool/autoscaling-ignore-changes",
	Severities: isWarning,
	Roles:      onlyPool,
	Summary:    "`var.autoscaling` is used, but no resource ignores changes of its desired capacity.",
	Why:        "The next apply would set the group back to the size that it was created with, against the scaler.",
	Fix:        "Add the desired-capacity argument to `lifecycle.ignore_changes` of the group.",
	Bad: `variable "autoscaling" {
  type = object({ enabled = bool, min = number, max = number })
}

resource "aws_autoscaling_group" "this" {
  desired_capacity = var.replicas
  max_size         = var.autoscaling.max
  min_size         = var.autoscaling.min
}`,
	Good: `variable "autoscaling" {
  type = object({ enabled = bool, min = number, max = number })
}

resource "aws_autoscaling_group" "this" {
  desired_capacity = var.replicas
  max_size         = var.autoscaling.max
  min_size         = var.autoscaling.min

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}`,
	Rules: []string{"lint.md 4", "lint.md 4.6", "lint.md 9 L14", "contract.md 11.3"},
	Check: func(c *lint.Context) {
		v := c.Root.Variable(inputAutoscaling)
		if v == nil || !mentions(c, c.Root, "var", inputAutoscaling) || ignoresCapacity(c) || !c.Tree.Complete(c.Root) {
			return
		}
		c.Warnf(v.DefRange, "add the desired-capacity argument of the group to lifecycle.ignore_changes",
			"var.%s is used, but no resource ignores changes of its desired capacity, so an apply undoes what the scaler did", inputAutoscaling)
	},
}

func mentions(c *lint.Context, m *module.Module, root, name string) bool {
	for _, ref := range c.References(m) {
		if ref.Is(root, name) {
			return true
		}
	}
	return false
}

func ignoresCapacity(c *lint.Context) bool {
	for _, m := range c.Modules() {
		for _, r := range m.Resources {
			if r.Mode != module.Managed {
				continue
			}
			if r.Lifecycle.IgnoreAll {
				return true
			}
			for _, t := range r.Lifecycle.IgnoreChanges {
				name := flow.LastName(t)
				if desiredCapacity[name] || name == "input" && r.Type == "terraform_data" {
					return true
				}
			}
		}
	}
	return false
}
