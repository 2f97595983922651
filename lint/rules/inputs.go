package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

var inputRequired = lint.Rule{
	ID:         "input/required",
	Severities: isError,
	Summary:    "A contract input of the role is not declared as a variable.",
	Why:        "The generated root passes every input of the role by name; an argument that the module does not declare fails `validate`.",
	Fix:        "Declare the variable with the contract type, also if its value is not used. `--fix` does it.",
	Bad:        `# no variable "machine_name"`,
	Good: `variable "machine_name" {
  type = string
}`,
	Rules: []string{"lint.md 4", "contract.md 3 R2"},
	Check: func(c *lint.Context) {
		if !c.Tree.Complete(c.Root) {
			return // module/source-escape says so; the file may declare them
		}
		for _, in := range c.Spec.Inputs {
			if in.Name != inputTags && c.Root.Variable(in.Name) == nil {
				c.Errorf(hcl.Range{}, declareInput(in), "the contract input %q is not declared as a variable", in.Name)
			}
		}
	},
}

// declareInput says how a contract input is declared.
func declareInput(in contract.Input) string {
	extra := ""
	switch {
	case in.Sensitive:
		extra = " and sensitive = true"
	case in.MayDefault:
		extra = " and default = null"
	}
	return fmt.Sprintf("add variable %q with type = %s%s; --fix does it", in.Name, in.Shape.TypeExpr(), extra)
}

var inputTagsDeclared = lint.Rule{
	ID:         "input/tags-declared",
	Severities: isError,
	Summary:    "`captf_tags` is not declared.",
	Why:        "The generated root passes the tags, and without them nothing in the cloud tells which cluster it belongs to.",
	Fix:        "Declare the variable and use it in every resource that can be tagged. `--fix` declares it.",
	Bad:        `# no variable "captf_tags"`,
	Good: `variable "captf_tags" {
  type = map(string)
}`,
	Rules: []string{"lint.md 4", "lint.md 9 L1", "contract.md 3 R5"},
	Check: func(c *lint.Context) {
		if in, ok := c.Spec.Input(inputTags); ok && c.Root.Variable(in.Name) == nil && c.Tree.Complete(c.Root) {
			c.Errorf(hcl.Range{}, declareInput(in), "the contract input %q is not declared as a variable", in.Name)
		}
	},
}

var inputDefault = lint.Rule{
	ID:         "input/default",
	Severities: isWarning,
	Summary:    "A contract input that is always given carries a default, or one that may be null carries a default other than null.",
	Why:        "The root passes every input, so the default is never used; should a controller ever forget one, the default would hide it.",
	Fix:        "Remove the default. An input that may be null can have `default = null`.",
	Bad: `variable "machine_name" {
  type    = string
  default = "node"
}`,
	Good: `variable "machine_name" {
  type = string
}

variable "failure_domain" {
  type    = string
  default = null
}`,
	Rules: []string{"lint.md 4", "lint.md 4.4"},
	Check: func(c *lint.Context) {
		for in, v := range declaredInputs(c) {
			if !v.HasDefault {
				continue
			}
			at := v.RangeOf("default")
			secret := in.Sensitive || v.Sensitive
			switch {
			case !in.MayDefault:
				c.Report(lint.Problem{Severity: lint.SeverityWarning, At: at, Secret: secret, Remedy: "remove the default",
					Message: fmt.Sprintf("the contract input %q is always given, so its default only hides a missing value", v.Name)})
			case !v.Default.IsNull() && v.Nullable:
				c.Report(lint.Problem{Severity: lint.SeverityWarning, At: at, Secret: secret, Remedy: "write default = null, or remove it",
					Message: fmt.Sprintf("the contract input %q is given even if it is null, so its default is never used", v.Name)})
			}
		}
	},
}

var inputNullable = lint.Rule{
	ID:         "input/nullable",
	Severities: errorOrWarning,
	Summary:    "A contract input that may be null has `nullable = false`.",
	Why:        "Null means something: not set, or not known yet. Without a default the run fails on it; with one the module sees the default instead of null.",
	Fix:        "Remove `nullable = false` and handle null.",
	Bad: `variable "failure_domain" {
  type     = string
  nullable = false
}`,
	Good: `variable "failure_domain" {
  type    = string
  default = null
}`,
	Rules: []string{"lint.md 4.3", "lint.md 8 G7", "lint.md 9 L3"},
	Check: func(c *lint.Context) {
		for in, v := range declaredInputs(c) {
			if v.Nullable || !in.Shape.Nullable {
				continue
			}
			const fix = "remove nullable = false and handle null"
			if v.HasDefault {
				c.Warnf(v.RangeOf("nullable"), fix, "the contract input %q may be null, but nullable = false turns null into the default", v.Name)
				continue
			}
			c.Errorf(v.RangeOf("nullable"), fix, "the contract input %q may be null, but nullable = false makes the run fail on null", v.Name)
		}
	},
}

var inputSensitive = lint.Rule{
	ID:         "input/sensitive",
	Severities: isWarning,
	Roles:      nodes,
	Summary:    "`bootstrap_data` lacks `sensitive = true`.",
	Why:        "The payload holds join tokens and, on control planes, private keys; unmarked it is printed in plans.",
	Fix:        "Add `sensitive = true`. `--fix` does it.",
	Bad: `variable "bootstrap_data" {
  type = string
}`,
	Good: `variable "bootstrap_data" {
  type      = string
  sensitive = true
}`,
	Rules: []string{"lint.md 4", "contract.md 10.1"},
	Check: func(c *lint.Context) {
		for in, v := range declaredInputs(c) {
			if in.Sensitive && !v.Sensitive {
				c.Warnf(v.RangeOf("sensitive"), "add sensitive = true; --fix does it",
					"the contract input %q holds secrets, but the variable is not sensitive", v.Name)
			}
		}
	},
}

var inputReserved = lint.Rule{
	ID:         "input/reserved",
	Severities: isError,
	Summary:    "A variable name starts with `captf_` and is no contract input of the role. A cluster module may declare `captf_cluster_outputs` if it has a default.",
	Why:        "The prefix belongs to the contract, no object can set such a variable, and a later version may give the name a meaning.",
	Fix:        "Rename the variable, or give a tolerated one a default.",
	Bad: `variable "captf_region" {
  type = string
}`,
	Good: `variable "region" {
  type    = string
  default = "eu-central-1"
}`,
	Rules: []string{"lint.md 4", "lint.md 9 L12", "contract.md 3 R4"},
	Check: func(c *lint.Context) {
		for _, v := range c.Root.Variables {
			if !strings.HasPrefix(v.Name, contract.ReservedPrefix) {
				continue
			}
			if _, ok := c.Spec.Input(v.Name); ok {
				continue
			}
			if !tolerated(c, v.Name) {
				c.Errorf(v.DefRange, "rename the variable", "the variable name %q is reserved, and no contract input of the role %s", v.Name, c.Role)
			} else if !v.HasDefault {
				c.Errorf(v.DefRange, "add default = null, or remove the variable",
					"the variable %q is never passed to a module of the role %s, so it needs a default", v.Name, c.Role)
			}
		}
	},
}

func tolerated(c *lint.Context, name string) bool {
	for _, in := range c.Spec.Tolerated {
		if in.Name == name {
			return true
		}
	}
	return false
}

var inputUserVariableDefault = lint.Rule{
	ID:         "input/user-variable-default",
	Severities: isWarning,
	Summary:    "A variable of the user has no default.",
	Why:        "Every object that does not set it fails at plan.",
	Fix:        "Add a default, or allow the warning when every object must set the variable.",
	Bad: `variable "region" {
  type = string
}`,
	Good: `variable "region" {
  type    = string
  default = "eu-central-1"
}`,
	Rules: []string{"lint.md 4", "contract.md 3 R8"},
	Check: func(c *lint.Context) {
		for _, v := range userVariables(c) {
			if !v.HasDefault {
				c.Warnf(v.DefRange, "add a default, or ignore the warning with the reason why every object must set it",
					"the variable %q has no default, so every object has to set it", v.Name)
			}
		}
	},
}

var inputUserVariableName = lint.Rule{
	ID:         "input/user-variable-name",
	Severities: errorOrInfo,
	Summary:    "A variable of the user has a name that no object can set (error without a default), or that is a contract input of another role.",
	Why:        "Objects set variables by name, in ASCII letters, digits, `_` and `-`. A name that another role's contract uses means something else there, which confuses whoever writes a template for both.",
	Fix:        "Rename the variable.",
	Bad: `# in a machine module
variable "replicas" {
  type    = number
  default = 1
}`,
	Good: `variable "disk_count" {
  type    = number
  default = 1
}`,
	Rules: []string{"lint.md 8 G6", "contract.md 7"},
	Check: func(c *lint.Context) {
		for _, v := range userVariables(c) {
			switch role, taken := inputOfOther(c, v.Name); {
			case !contract.ValidVariableName(v.Name) && !v.HasDefault:
				c.Errorf(v.DefRange, "rename it with ASCII letters, digits, _ and - only",
					"no object can set the variable %q for its name, and it has no default", v.Name)
			case !contract.ValidVariableName(v.Name):
				c.Infof(v.DefRange, "rename it with ASCII letters, digits, _ and - only",
					"no object can set the variable %q for its name", v.Name)
			case taken:
				c.Infof(v.DefRange, "choose another name", "the variable %q of the user has the name of a contract input of the role %s", v.Name, role)
			}
		}
	},
}

func inputOfOther(c *lint.Context, name string) (contract.Role, bool) {
	for _, role := range contract.Roles() {
		if role == c.Role {
			continue
		}
		if _, ok := c.Contract.Spec(role).Input(name); ok {
			return role, true
		}
	}
	return "", false
}

// inputsWorthUsing maps the inputs whose silent neglect surprises users to what
// happens then; a mention in the variable's own validation is a use where the
// contract asks to fail loudly.
var inputsWorthUsing = map[string]struct {
	consequence        string
	validationIsEnough bool
}{
	"bootstrap_format":   {"a payload in a format that the module does not support boots no node, without a word (CP-047)", true},
	"failure_domain":     {"the machine is placed anywhere instead of where it was asked to be (CP-045)", false},
	"failure_domains":    {"the members are placed anywhere instead of where they were asked to be", false},
	"kubernetes_version": {"a new version neither selects an image nor, in a pool, rolls the members (CP-062)", false},
	"node_labels":        {"the labels never reach the Nodes", false},
}

var inputUnused = lint.Rule{
	ID:         "input/unused",
	Severities: isInfo,
	Roles:      nodes,
	Summary:    "`bootstrap_format`, `failure_domain`, `failure_domains`, `kubernetes_version` or `node_labels` is declared, but nothing uses it, here or in a local module that it is handed to; an output that nobody reads is no use.",
	Why:        "A module may ignore an input, but what the user asked for is then dropped without a word.",
	Fix:        "Use the input, or fail in a validation or precondition when it asks for what the module cannot do.",
	Bad: `variable "node_labels" {
  type = map(string)
}
# and no other mention of it`,
	Good: `variable "node_labels" {
  type = map(string)
}

resource "terraform_data" "group" {
  input = {
    labels = var.node_labels
  }
}`,
	Rules: []string{"lint.md 8 G17", "CP-045", "CP-047", "CP-062"},
	Check: func(c *lint.Context) {
		for in, v := range declaredInputs(c) {
			note, ok := inputsWorthUsing[in.Name]
			if !ok {
				continue
			}
			if !c.Tree.Complete(c.Root) {
				return
			}
			s := useSearch{c: c, validationIsEnough: note.validationIsEnough, seen: map[usageKey]bool{}}
			if !s.used(c.Root, "var", in.Name) {
				c.Infof(v.DefRange, "use it, or fail when it asks for what the module cannot do",
					"nothing uses the contract input %q: %s", in.Name, note.consequence)
			}
		}
	},
}

// useSearch decides whether anything makes something of an input. A local, an
// argument of a local module and an output of one hand it on; a validation of the variable itself is
// a use only where that is enough. With onlyMade the value of an output of the
// root module is no use at all.
type useSearch struct {
	c                  *lint.Context
	validationIsEnough bool
	onlyMade           bool
	seen               map[usageKey]bool
}

func (s useSearch) used(m *module.Module, root, name string) bool {
	key := usageKey{m, root, name}
	if s.seen[key] {
		return false
	}
	s.seen[key] = true
	return slices.ContainsFunc(s.c.References(m), func(ref module.Reference) bool {
		return ref.Is(root, name) && s.counts(m, ref.Owner)
	})
}

func (s useSearch) counts(m *module.Module, owner module.Owner) bool {
	switch owner.Kind {
	case module.OwnerOutput:
		return owner.Argument() != "value" || s.read(m, owner.Output)
	case module.OwnerVariable:
		return s.validationIsEnough
	case module.OwnerLocal:
		return s.used(m, "local", owner.Local.Name)
	case module.OwnerCall:
		if _, isArg := owner.Call.Args[owner.Argument()]; isArg && owner.Call.Module != nil {
			return s.used(owner.Call.Module, "var", owner.Argument())
		}
	}
	return true
}

// read tells that something makes use of an output: of the root module only the
// contract outputs are read, of a called module those that a caller refers to.
func (s useSearch) read(m *module.Module, o *module.Output) bool {
	if m == s.c.Root {
		_, ok := s.c.Spec.Output(o.Name)
		return ok && !s.onlyMade
	}
	for _, caller := range s.c.Modules() {
		for _, call := range caller.Calls {
			if call.Module == m && s.outputUsed(caller, call, o.Name) {
				return true
			}
		}
	}
	return false
}

func (s useSearch) outputUsed(m *module.Module, call *module.ModuleCall, output string) bool {
	key := usageKey{m, "module", call.Name + "." + output}
	if s.seen[key] {
		return false
	}
	s.seen[key] = true
	return slices.ContainsFunc(s.c.References(m), func(ref module.Reference) bool {
		if !ref.Is("module", call.Name) || ref.Owner.Argument() == "depends_on" {
			return false
		}
		name, _ := attributeNamed(ref.Traversal)
		return (name == "" || name == output) && s.counts(m, ref.Owner)
	})
}

// declaredInputs ranges over the contract inputs that the root module declares.
func declaredInputs(c *lint.Context) func(yield func(contract.Input, *module.Variable) bool) {
	return func(yield func(contract.Input, *module.Variable) bool) {
		for _, in := range c.Spec.Inputs {
			if v := c.Root.Variable(in.Name); v != nil && !yield(in, v) {
				return
			}
		}
	}
}

// userVariables returns the variables of the root module that objects may set.
func userVariables(c *lint.Context) []*module.Variable {
	var out []*module.Variable
	for _, v := range c.Root.Variables {
		if _, ok := c.Spec.Input(v.Name); !ok && !strings.HasPrefix(v.Name, contract.ReservedPrefix) {
			out = append(out, v)
		}
	}
	return out
}
