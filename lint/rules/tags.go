package rules

import (
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

var inputTagsUnused = lint.Rule{
	ID:         "input/tags-unused",
	Severities: isWarning,
	Summary:    "`captf_tags` is declared, but no resource, data source, provider, output or local module uses it.",
	Why:        "What is not tagged cannot be found, billed or cleaned up by cluster.",
	Fix:        "Reference the tags from every resource that can be tagged; allow the warning only if the provider cannot tag.",
	Bad: `variable "captf_tags" {
  type = map(string)
}
# and no other mention of it`,
	Good: `variable "captf_tags" {
  type = map(string)
}

resource "aws_instance" "node" {
  tags = var.captf_tags
}`,
	Rules: []string{"lint.md 4", "lint.md 4.5", "lint.md 9 L11"},
	Check: func(c *lint.Context) {
		v := c.Root.Variable(inputTags)
		if v == nil || !c.Tree.Complete(c.Root) {
			return
		}
		u := usage{c: c, seen: map[usageKey]bool{}}
		if !u.variable(c.Root, inputTags) {
			c.Warnf(v.DefRange, "use var."+inputTags+" in every resource that can be tagged",
				"nothing that is created uses %s", inputTags)
		}
	},
}

// usage decides whether something that is created uses a variable (lint.md 4.5).
type usage struct {
	c    *lint.Context
	seen map[usageKey]bool
}

type usageKey struct {
	m          *module.Module
	root, name string
}

func (u usage) variable(m *module.Module, name string) bool { return u.used(m, "var", name, true) }

// used tells whether root.name is used; an output counts for a variable itself,
// but not for a local that holds it.
func (u usage) used(m *module.Module, root, name string, outputs bool) bool {
	key := usageKey{m, root, name}
	if u.seen[key] {
		return false
	}
	u.seen[key] = true
	for _, ref := range u.c.References(m) {
		if ref.Is(root, name) && u.counts(m, ref, outputs) {
			return true
		}
	}
	return false
}

func (u usage) counts(m *module.Module, ref module.Reference, outputs bool) bool {
	owner := ref.Owner
	if owner.Argument() == "depends_on" {
		return false
	}
	switch owner.Kind {
	case module.OwnerResource:
		return owner.Resource.InCheck == nil
	case module.OwnerProvider:
		return true
	case module.OwnerOutput:
		return outputs && owner.Argument() == "value"
	case module.OwnerLocal:
		return u.used(m, "local", owner.Local.Name, false)
	case module.OwnerCall:
		if owner.Call.Module == nil {
			return true // a callee that cannot be read gets the benefit of the doubt
		}
		if _, isArg := owner.Call.Args[owner.Argument()]; !isArg {
			return true // count, for_each
		}
		return u.variable(owner.Call.Module, owner.Argument())
	}
	return false
}
