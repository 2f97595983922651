package rules

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/flow"
)

var outputExportsNumber = lint.Rule{
	ID:         "output/exports-number",
	Severities: errorOrInfo,
	Roles:      onlyCluster,
	Summary:    "`exports` holds a number with a fraction (error if every run meets it), or one that is written with a fraction or an exponent (info).",
	Why:        "Machines and pools hash the exports, and only whole numbers have one exact form; a fraction makes every dependent object unhashable.",
	Fix:        "Emit the number as a string, or round it.",
	Bad: `output "exports" {
  value = {
    ratio = 0.5
  }
}`,
	Good: `output "exports" {
  value = {
    ratio = "0.5"
  }
}`,
	Rules: []string{"lint.md 8 G3", "CP-012", "contract.md 5"},
	Check: func(c *lint.Context) {
		for _, row := range integerOutputs(c) {
			o := c.Root.Output(row.Name)
			walkValue(c.Flow.Output(o), row.Name, true, func(v flow.Value, path string, certain bool) {
				if v.Kind != flow.Known || v.Known.Type() != cty.Number {
					return
				}
				at := v.Range
				if at.Filename == "" {
					at = o.RangeOf("value")
				}
				const fix = "emit it as a string, or round it"
				switch {
				case !v.Known.AsBigFloat().IsInt() && certain:
					c.Errorf(at, fix, "output %s is a number with a fraction, which makes every machine and pool unhashable", path)
				case !v.Known.AsBigFloat().IsInt():
					c.Infof(at, fix, "output %s can be a number with a fraction, which makes every machine and pool unhashable", path)
				case strings.ContainsAny(sourceText(c, at), ".eE") && looksNumeric(sourceText(c, at)):
					c.Infof(at, "write the number in full", "output %s is a whole number written with a fraction or an exponent", path)
				}
			})
		}
	},
}

// integerOutputs returns the declared outputs that may hold anything but fractions.
func integerOutputs(c *lint.Context) []contract.Output {
	var rows []contract.Output
	for _, row := range c.Spec.Outputs {
		if row.Shape.IntegersOnly && c.Root.Output(row.Name) != nil {
			rows = append(rows, row)
		}
	}
	return rows
}

// walkValue calls visit for a value and all that is inside.
func walkValue(v flow.Value, path string, certain bool, visit func(v flow.Value, path string, certain bool)) {
	visit(v, path, certain)
	switch v.Kind {
	case flow.Object:
		for _, name := range sortedNames(v.Attributes) {
			walkValue(v.Attributes[name], join(path, name), certain, visit)
		}
	case flow.Tuple:
		for i, item := range v.Items {
			walkValue(item, fmt.Sprintf("%s[%d]", path, i), certain, visit)
		}
	case flow.List, flow.Map:
		walkValue(*v.Item, path+"[*]", certain && !v.Conditional, visit)
	case flow.Union:
		for _, alt := range v.Alternatives {
			walkValue(alt, path, false, visit)
		}
	}
}

func sourceText(c *lint.Context, r hcl.Range) string {
	f := c.Tree.File(r.Filename)
	if f == nil || r.Start.Byte < 0 || r.End.Byte > len(f.Bytes) || r.Start.Byte > r.End.Byte {
		return ""
	}
	return string(f.Bytes[r.Start.Byte:r.End.Byte])
}

func looksNumeric(s string) bool { return s != "" && strings.Trim(s, "0123456789.eE+-_") == "" }

var outputExportsSecret = lint.Rule{
	ID:         "output/exports-secret",
	Severities: isInfo,
	Roles:      onlyCluster,
	Summary:    "`exports` has a key with the name of a credential, or holds a sensitive variable or an attribute with such a name; one that ends in the name, such as `kubeconfig_password`, counts too.",
	Why:        "Exports are published in the status of the cluster object, and given to every machine: whoever can read the object can read them, whatever is marked sensitive.",
	Fix:        "Export the id of a secret store's entry instead, and let the machine read it.",
	Bad: `output "exports" {
  value = {
    join_token = var.token
  }
}

variable "token" {
  type      = string
  default   = ""
  sensitive = true
}`,
	Good: `output "exports" {
  value = {
    secret_id = aws_secretsmanager_secret.join.id
  }
}`,
	Rules: []string{"lint.md 8 G4", "CP-012", "contract.md 9.2"},
	Check: func(c *lint.Context) {
		const fix = "export the id of an entry in a secret store instead"
		for _, row := range integerOutputs(c) {
			o := c.Root.Output(row.Name)
			at := o.RangeOf("value")
			walkValue(c.Flow.Output(o), row.Name, true, func(v flow.Value, path string, _ bool) {
				for _, name := range sortedNames(v.Attributes) {
					if a := v.Attributes[name]; contract.MaybeSecretName(name) && a.Kind != flow.Null {
						c.Report(lint.Problem{
							Severity: lint.SeverityInfo, At: inTree(c, a.Range, at), Secret: true, Remedy: fix,
							Message: fmt.Sprintf("output %s has the name of a credential, and everyone who can read the cluster object can read it", join(path, name)),
						})
					}
				}
			})
			for _, leaf := range c.Flow.Leaves(c.Flow.Root(), o.Value) {
				if what, secret := secretLeaf(leaf); secret {
					c.Infof(leaf.Traversal.SourceRange(), fix, "output %s holds %s, and everyone who can read the cluster object can read it", row.Name, what)
				}
			}
		}
	},
}

// secretLeaf tells that a reference is to something secret, and what.
func secretLeaf(leaf flow.Leaf) (string, bool) {
	if leaf.Traversal.RootName() == "var" {
		if v := leaf.Variable(); v != nil && v.Sensitive {
			return fmt.Sprintf("the sensitive variable %q", v.Name), true
		}
		return "", false
	}
	path := leaf.Path()
	// All of a resource, such as the source of a splat, has no name but its own.
	if attr, _ := attributeNamed(path); attr == "" {
		return "", false
	}
	if name := flow.LastName(path); contract.MaybeSecretName(name) {
		return fmt.Sprintf("the attribute %q, which has the name of a credential", name), true
	}
	return "", false
}

// inTree returns a range if it lies in a file that was read, else another.
func inTree(c *lint.Context, r, otherwise hcl.Range) hcl.Range {
	if r.Filename == "" || c.Tree.File(r.Filename) == nil {
		return otherwise
	}
	return r
}

var outputSensitive = lint.Rule{
	ID:         "output/sensitive",
	Severities: isInfo,
	Summary:    "An output is computed from a sensitive variable, but not marked `sensitive = true`.",
	Why:        "Both runtimes carry the mark along, and used as a root module the module fails at plan; a reader of the output block does not see that its value is secret.",
	Fix:        "Add `sensitive = true`, or wrap what is no secret, such as a digest, in `nonsensitive()`.",
	Bad: `output "bootstrap_digest" {
  value = sha256(var.bootstrap_data)
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}`,
	Good: `output "bootstrap_digest" {
  value = nonsensitive(sha256(var.bootstrap_data))
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}`,
	Rules: []string{"lint.md 8 G5", "contract.md 5"},
	Check: func(c *lint.Context) {
		for _, o := range c.Root.Outputs {
			if o.Sensitive || o.Value == nil {
				continue
			}
			for _, leaf := range c.Flow.Leaves(c.Flow.Root(), o.Value) {
				v := leaf.Variable()
				if v == nil || !v.Sensitive || leaf.Unmarked || leaf.Conditional {
					continue
				}
				c.Infof(o.RangeOf("value"), "add sensitive = true, or wrap what is no secret in nonsensitive()",
					"output %s is computed from the sensitive variable %q, but not marked sensitive", o.Name, v.Name)
				break
			}
		}
	},
}
