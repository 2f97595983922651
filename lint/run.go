package lint

import (
	"fmt"
	"slices"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

// Options say what to check and against what.
type Options struct {
	// Dir is the module directory.
	Dir string
	// Role is the role that the module is to play.
	Role contract.Role
	// Contract is the version of the contract.
	Contract contract.Definition
	// Rules are the checks to make; package rules has them.
	Rules []Rule
	// Allow lists warnings that count as info.
	Allow []Allowance
}

// Allowance turns the warnings of one check into info. Errors stay errors.
type Allowance struct {
	// ID is the check.
	ID string
	// Reason is given with the finding, such as "--allow-warning".
	Reason string
}

// Run reads the module and makes every check that applies to the role. The
// error of a module that cannot be read is that of [module.Load].
func Run(o Options) (*Report, error) {
	tree, err := module.Load(o.Dir, module.Options{})
	if err != nil {
		return nil, err
	}
	return Check(tree, o)
}

// Check is Run on a module that is loaded already; o.Dir is not read.
func Check(tree *module.Tree, o Options) (*Report, error) {
	spec := o.Contract.Spec(o.Role)
	if spec.Role != o.Role || o.Role == "" {
		return nil, fmt.Errorf("checking %s: contract %s has no role %q: it is one of %s",
			tree.Root, o.Contract.Version(), o.Role, contract.RoleNames())
	}
	ctx := &Context{
		Tree: tree, Root: tree.Primary, Role: o.Role, Spec: spec, Contract: o.Contract,
		Flow: flow.New(tree.Primary, spec),
		refs: map[*module.Module][]module.Reference{},
	}
	for i := range o.Rules {
		if r := &o.Rules[i]; r.Check != nil && r.For(o.Role) {
			ctx.rule = r
			r.Check(ctx)
		}
	}
	findings := ctx.findings
	slices.SortFunc(findings, compareFindings)
	// A module that is called twice, or an expression that is reached on two
	// ways, is still one place to edit.
	findings = slices.Compact(findings)
	findings = suppress(ctx, o.Rules, findings)
	findings = Settle(findings, o.Allow)
	return &Report{
		Dir: tree.Root, Role: o.Role, Contract: o.Contract.Version(),
		Runtime: tree.Primary.Runtime, Findings: findings,
	}, nil
}

// Settle applies the allowances and puts findings into the order of a report.
func Settle(findings []Finding, allow []Allowance) []Finding {
	for i := range findings {
		for _, a := range allow {
			if f := &findings[i]; a.ID == f.ID && f.Severity == SeverityWarning {
				f.Severity, f.Allowed, f.AllowedOutside = SeverityInfo, a.Reason, true
			}
		}
	}
	slices.SortFunc(findings, compareFindings)
	return findings
}
