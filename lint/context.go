package lint

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

// Context is what a rule sees of a module, and where it reports.
type Context struct {
	// Tree is all that was read.
	Tree *module.Tree
	// Root is the root module in the view that checks run on.
	Root *module.Module
	// Role is the role that the module is to play, Spec its tables and Contract
	// the version that they are from.
	Role     contract.Role
	Spec     contract.RoleSpec
	Contract contract.Definition
	// Flow tells what expressions can evaluate to.
	Flow *flow.Analyzer

	rule     *Rule
	findings []Finding
	modules  []*module.Module
	refs     map[*module.Module][]module.Reference
}

// Modules returns the root module and every local module that it calls.
func (c *Context) Modules() []*module.Module {
	if c.modules == nil {
		c.modules = c.Root.Tree()
	}
	return c.modules
}

// References returns the references in a module; they are collected once for all rules.
func (c *Context) References(m *module.Module) []module.Reference {
	refs, ok := c.refs[m]
	if !ok {
		refs = m.References()
		c.refs[m] = refs
	}
	return refs
}

// Problem is what a rule reports.
type Problem struct {
	// Severity is one of those that the rule declares.
	Severity Severity
	// At is the offending argument where there is one, else the header of the
	// block (lint.md 9 L9); the zero value is the whole module.
	At hcl.Range
	// Message says what is wrong, Remedy what to do. Neither ends in a period.
	Message, Remedy string
	// Secret tells that the source line may hold a secret.
	Secret bool
}

// Report adds a finding of the rule that is running.
func (c *Context) Report(p Problem) {
	f := Finding{ID: c.rule.ID, Severity: p.Severity, Message: p.Message, Remedy: p.Remedy}
	f.place(c.Tree, p.At, p.Secret)
	c.findings = append(c.findings, f)
}

// Errorf reports an error at a place.
func (c *Context) Errorf(at hcl.Range, remedy, format string, args ...any) {
	c.Report(Problem{Severity: SeverityError, At: at, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

// Warnf reports a warning at a place.
func (c *Context) Warnf(at hcl.Range, remedy, format string, args ...any) {
	c.Report(Problem{Severity: SeverityWarning, At: at, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

// Infof reports an info at a place.
func (c *Context) Infof(at hcl.Range, remedy, format string, args ...any) {
	c.Report(Problem{Severity: SeverityInfo, At: at, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}
