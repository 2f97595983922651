package rules

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint"
)

var moduleProviderConfig = lint.Rule{
	ID:         "module/provider-config",
	Severities: isWarning,
	Summary:    "A provider block sets an argument with the name of a credential to a literal.",
	Why:        "Credentials come from the identity of the object. One in the module is in its image and its history, and the same for every cluster.",
	Fix:        "Remove the argument, so that the provider reads its environment, or set it from a variable. Revoke a credential that was published.",
	Bad: `provider "aws" {
  access_key = "AKIAEXAMPLE"
}`,
	Good: `provider "aws" {
  region = var.region
}`,
	Rules: []string{"lint.md 4", "lint.md 4.2", "lint.md 9 L8", "contract.md 3 R12"},
	Check: func(c *lint.Context) {
		for _, m := range c.Modules() {
			for _, p := range m.Providers {
				s := credentialSearch{c: c, provider: p.Name}
				p.Body.Walk(func(_ []string, a *hcl.Attribute) {
					s.value(a.Name, a.Expr, a.Range)
				})
			}
		}
	},
}

// credentialSearch looks for literals under the name of a credential, also in
// object values and lists.
type credentialSearch struct {
	c        *lint.Context
	provider string
}

func (s credentialSearch) value(name string, expr hcl.Expression, at hcl.Range) {
	if p, ok := expr.(*hclsyntax.ParenthesesExpr); ok {
		s.value(name, p.Expression, at)
		return
	}
	if pairs, diags := hcl.ExprMap(expr); !diags.HasErrors() {
		for _, p := range pairs {
			if key, ok := literalText(p.Key); ok {
				s.value(key, p.Value, hcl.RangeBetween(p.Key.Range(), p.Value.Range()))
			}
		}
		return
	}
	if items, diags := hcl.ExprList(expr); !diags.HasErrors() {
		for _, item := range items {
			s.value(name, item, item.Range())
		}
		return
	}
	if text, ok := literalText(expr); !ok || text == "" || !contract.SecretName(name) {
		return
	}
	s.c.Report(lint.Problem{
		Severity: lint.SeverityWarning, At: at, Secret: true,
		Message: fmt.Sprintf("the provider %q has the credential %q in its configuration", s.provider, name),
		Remedy:  "remove it, so that the provider takes it from the object's identity, or set it from a variable; revoke it if it was published",
	})
}

// literalText returns the string that an expression is, if it holds no
// interpolation: a quoted text, a heredoc, a JSON string, or an object key.
func literalText(expr hcl.Expression) (string, bool) {
	if k, ok := expr.(*hclsyntax.ObjectConsKeyExpr); ok {
		if word := hcl.ExprAsKeyword(k.Wrapped); word != "" && !k.ForceNonLiteral {
			return word, true
		}
		expr = k.Wrapped
	}
	switch e := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return literalText(e.Expression)
	case *hclsyntax.TemplateExpr, *hclsyntax.LiteralValueExpr:
	case hclsyntax.Expression:
		return "", false
	}
	if len(expr.Variables()) > 0 {
		return "", false
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}
