package rules

import (
	"cmp"
	"slices"
	"strings"

	version "github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

var moduleSyntaxFloor = lint.Rule{
	ID:         "module/syntax-floor",
	Severities: errorOrInfo,
	Summary:    "The module uses a construct that no version allowed by `required_version` knows (error), or that some allowed version does not know (info).",
	Why:        "The constraint promises versions that fail to read the module.",
	Fix:        "Raise the lower bound of `required_version`, or do without the construct.",
	Bad: `terraform {
  required_version = ">= 1.2.0"
}

check "reachable" {
  assert {
    condition     = terraform_data.instance.id != ""
    error_message = "the instance has no id"
  }
}`,
	Good: `terraform {
  required_version = ">= 1.5.0"
}

check "reachable" {
  assert {
    condition     = terraform_data.instance.id != ""
    error_message = "the instance has no id"
  }
}`,
	Rules: []string{"lint.md 8 G11"},
	Check: func(c *lint.Context) {
		allowed, ok := versionRange(c.Root)
		if !ok {
			return
		}
		reported := map[string]bool{}
		for _, m := range c.Modules() {
			for _, use := range append(slices.Clone(m.Features), libraryUses(m)...) {
				since := use.Since(m.Runtime)
				if since == "" || reported[use.ID] {
					continue
				}
				first, err := version.NewVersion(since)
				if err != nil {
					continue
				}
				switch {
				case allowed.endBefore(first):
					reported[use.ID] = true
					c.Errorf(use.Range, "allow "+since+" or newer in required_version, or do without it",
						"%s knows the %s since %s, and required_version allows nothing that new", m.Runtime, use.Construct, since)
				case allowed.floor.LessThan(first):
					reported[use.ID] = true
					c.Infof(use.Range, "raise required_version to >= "+since+", or do without it",
						"%s knows the %s since %s, but required_version allows %s", m.Runtime, use.Construct, since, allowed.lowest())
				}
			}
		}
	},
}

// versionSpan is what constraints allow.
type versionSpan struct {
	// floor is the lower bound; above tells that it is not allowed itself.
	floor *version.Version
	above bool
	// ceiling is the upper bound, nil when there is none; below tells that it is
	// not allowed itself.
	ceiling *version.Version
	below   bool
}

// endBefore tells that no allowed version is as new as v.
func (s versionSpan) endBefore(v *version.Version) bool {
	return s.ceiling != nil && (s.ceiling.LessThan(v) || s.below && s.ceiling.Equal(v))
}

// lowest tells where the allowed versions start.
func (s versionSpan) lowest() string {
	if s.above {
		return "older ones, the first after " + s.floor.String()
	}
	return s.floor.String()
}

// versionRange returns what the root's constraints allow; ok is false when it
// has none that the runtime heeds.
func versionRange(m *module.Module) (s versionSpan, ok bool) {
	for _, v := range m.Versions {
		if !v.Effective { // this runtime does not read it
			continue
		}
		ok = true
		for _, part := range v.Constraints {
			op, at, err := splitConstraint(part.String())
			if err != nil {
				continue
			}
			switch op {
			case ">=", ">", "~>", "=", "":
				if s.floor == nil || s.floor.LessThan(at) {
					s.floor, s.above = at, op == ">"
				}
			}
			var upper *version.Version
			switch op {
			case "=", "", "<=", "<":
				upper = at
			case "~>":
				upper = pessimisticUpper(part.String())
			}
			if upper != nil && (s.ceiling == nil || upper.LessThan(s.ceiling)) {
				s.ceiling, s.below = upper, op == "<"
			}
		}
	}
	if s.floor == nil {
		s.floor = version.Must(version.NewVersion("0.12.0"))
	}
	return s, ok
}

func splitConstraint(text string) (op string, at *version.Version, err error) {
	rest := strings.TrimLeft(text, "<>=!~ ")
	op = strings.TrimSpace(strings.TrimSuffix(text, rest))
	at, err = version.NewVersion(strings.TrimSpace(rest))
	return op, at, err
}

// pessimisticUpper returns a version above all that `~> x.y.z` allows: the last
// segment given is free.
func pessimisticUpper(text string) *version.Version {
	parts := strings.Split(strings.TrimLeft(text, "~> "), ".")
	if len(parts) < 2 {
		return nil
	}
	parts[len(parts)-1] = "999999"
	v, err := version.NewVersion(strings.Join(parts, "."))
	if err != nil {
		return nil
	}
	return v
}

// libraryFunctions maps functions that came later to the first versions of
// Terraform and OpenTofu that know them; empty when none does. OpenTofu starts
// at 1.6.0.
var libraryFunctions = map[string]struct{ terraform, opentofu string }{
	"base64gunzip":    {"", "1.7.0"},
	"cidrcontains":    {"", "1.7.0"},
	"endswith":        {"1.3.0", "1.6.0"},
	"ephemeralasnull": {"1.10.0", "1.11.0"},
	"plantimestamp":   {"1.5.0", "1.6.0"},
	"startswith":      {"1.3.0", "1.6.0"},
	"strcontains":     {"1.5.0", "1.6.0"},
	"templatestring":  {"1.9.0", "1.7.0"},
	"timecmp":         {"1.3.0", "1.6.0"},
	"urldecode":       {"", "1.7.0"},
}

// libraryUses returns the first use of each function and built-in resource that
// not every version knows. JSON syntax is not scanned for functions.
func libraryUses(m *module.Module) []module.FeatureUse {
	var uses []module.FeatureUse
	add := func(id, construct, terraform, opentofu string, at hcl.Range) {
		uses = append(uses, module.FeatureUse{
			Feature: &module.Feature{ID: id, Construct: construct, Terraform: terraform, OpenTofu: opentofu}, Range: at,
		})
	}
	for _, r := range m.Resources {
		if r.Type == "terraform_data" && r.Mode == module.Managed {
			add("terraform_data", `"terraform_data" resource`, "1.4.0", "1.6.0", r.DefRange)
			break
		}
	}
	for _, call := range functionCalls(m.Files) {
		if strings.HasPrefix(call.Name, "provider::") {
			add("provider-function", "functions of providers", "1.8.0", "1.7.0", call.Range())
		}
		name := flow.FunctionName(call)
		if name != call.Name {
			add("core-function", `prefix "core::"`, "1.8.0", "1.7.0", call.Range())
		}
		if since, ok := libraryFunctions[name]; ok {
			add("function "+name, "function "+name+"()", since.terraform, since.opentofu, call.Range())
		}
	}
	slices.SortStableFunc(uses, func(a, b module.FeatureUse) int {
		return cmp.Or(cmp.Compare(a.Range.Filename, b.Range.Filename), cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte))
	})
	return uses
}

// functionCalls returns the function calls in files, in their order; those in
// JSON syntax are not seen.
func functionCalls(files []*module.File) []*hclsyntax.FunctionCallExpr {
	var calls []*hclsyntax.FunctionCallExpr
	for _, f := range files {
		body, ok := f.HCL.Body.(*hclsyntax.Body)
		if !ok {
			continue
		}
		first := len(calls)
		_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
			if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
				calls = append(calls, call)
			}
			return nil
		})
		slices.SortFunc(calls[first:], func(a, b *hclsyntax.FunctionCallExpr) int {
			return cmp.Compare(a.Range().Start.Byte, b.Range().Start.Byte)
		})
	}
	return calls
}
