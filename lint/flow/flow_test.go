package flow_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

// show writes a value in short: ? unknown, <string> a type, a|b alternatives,
// [x*] any number of x, {*: x} any keys, {…} more attributes.
func show(v flow.Value) string {
	switch v.Kind {
	case flow.Null:
		return "null"
	case flow.Known:
		switch v.Known.Type() {
		case cty.String:
			return fmt.Sprintf("%q", v.Known.AsString())
		case cty.Bool:
			return strconv.FormatBool(v.Known.True())
		}
		return v.Known.AsBigFloat().Text('g', -1)
	case flow.Typed:
		return "<" + v.Type.FriendlyNameForConstraint() + ">"
	case flow.Object:
		var parts []string
		for name, a := range v.Attributes {
			parts = append(parts, name+": "+show(a))
		}
		slices.Sort(parts)
		if v.Open {
			parts = append(parts, "…")
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case flow.Tuple:
		var parts []string
		for _, item := range v.Items {
			parts = append(parts, show(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case flow.List:
		return "[" + show(*v.Item) + conditional(v) + "]"
	case flow.Map:
		return "{*: " + show(*v.Item) + conditional(v) + "}"
	case flow.Union:
		var parts []string
		for _, a := range v.Alternatives {
			parts = append(parts, show(a))
		}
		return strings.Join(parts, "|")
	}
	return "?"
}

func conditional(v flow.Value) string {
	if v.Conditional {
		return "?*"
	}
	return "*"
}

// world is what the expressions below refer to.
const world = `
variable "captf_cluster" {
  type = object({ name = string, namespace = string })
}

variable "control_plane" {
  type = bool
}

variable "names" {
  type    = list(string)
  default = ["a"]
}

variable "untyped" {
  default = 1
}

locals {
  one    = 1
  object = { a = "x", b = { c = 2 } }
  list   = ["x", "y"]
  self   = local.self
  far    = null_resource.x.id
  choice = var.control_plane ? "yes" : "no"
}

resource "terraform_data" "plain" {
  input = { a = "x" }
}

resource "terraform_data" "ignored" {
  input = "x"

  lifecycle {
    ignore_changes = [input]
  }
}

resource "terraform_data" "many" {
  count = 2
  input = "x"
}

resource "terraform_data" "empty" {}

resource "null_resource" "x" {}

module "child" {
  source = "./child"
  given  = "5"
  shape  = { a = "x", z = true }
}

module "many" {
  for_each = toset(["a"])
  source   = "./child"
  given    = "5"
  shape    = {}
}

module "remote" {
  source = "example/x/null"
}
`

const child = `
variable "given" {
  type = number
}

variable "shape" {
  type = object({ a = optional(string), b = optional(number, 7) })
}

variable "defaulted" {
  type    = list(string)
  default = ["d"]
}

output "number" {
  value = var.given
}

output "shape" {
  value = var.shape
}

output "defaulted" {
  value = var.defaulted
}
`

func TestEval(t *testing.T) {
	exprs := []struct{ expr, want string }{
		{`null`, "null"},
		{`"x"`, `"x"`},
		{`"${local.one}-${"b"}"`, `"1-b"`},
		{`"${local.far}-b"`, "<string>"},
		{`"${local.list}"`, `["x", "y"]`},
		{"<<EOT\nx\nEOT\n", "\"x\\n\""},
		{`(((1)))`, "1"},
		{`-1.5`, "-1.5"},
		{`1 + 2 * 3`, "7"},
		{`local.far > 2`, "<bool>"},
		{`null == null`, "true"},
		{`!true`, "false"},
		{`local.far + 1`, "<number>"},
		{`{ a = 1, "b" = 2, (local.one) = 3 }`, "{1: 3, a: 1, b: 2}"},
		{`{ (local.far) = 1, a = 2 }`, "{a: ?, …}"},
		{`[1, null, local.far]`, "[1, null, ?]"},
		{`true ? 1 : 2`, "1"},
		{`var.control_plane ? 1 : null`, "1|null"},
		{`var.control_plane ? 1 : "x"`, `"1"|"x"`},
		{`var.control_plane ? null : null`, "null"},
		{`var.control_plane ? (var.control_plane ? 1 : 2) : 3`, "1|2|3"},
		{`local.object.b.c`, "2"},
		{`local.object["a"]`, `"x"`},
		{`local.object.missing`, "?"},
		{`local.list[1]`, `"y"`},
		{`local.list[5]`, "?"},
		{`local.list[local.far]`, `"x"|"y"`},
		{`local.self`, "?"},
		{`local.missing`, "?"},
		{`var.captf_cluster`, "<object>"},
		{`var.captf_cluster.name`, "<string>"},
		{`var.names`, "<list of string>"},
		{`var.names[0]`, "<string>"},
		{`var.untyped`, "?"},
		{`var.missing`, "?"},
		{`path.module`, "<string>"},
		{`terraform_data.plain.output.a`, `"x"`},
		{`terraform_data.plain.input`, `{a: "x"}`},
		{`terraform_data.plain.id`, "<string>"},
		{`terraform_data.plain.other`, "?"},
		{`terraform_data.ignored.output`, "?"},
		{`terraform_data.many[0].output`, `"x"`},
		{`terraform_data.many.output`, "?"},
		{`terraform_data.empty.output`, "null"},
		{`null_resource.x.id`, "?"},
		{`data.aws_ami.x.id`, "?"},
		{`module.child.number`, "5"},
		{`module.child.shape`, `{a: "x", b: 7}`},
		{`module.child.defaulted`, `["d"]`},
		{`module.child.missing`, "?"},
		{`module.many["a"].number`, "5"},
		{`module.many.number`, "?"},
		{`module.remote.x`, "?"},
		{`[for x in local.list : upper(x)]`, `["X", "Y"]`},
		{`[for x in local.list : { v = x }]`, `[{v: "x"}, {v: "y"}]`},
		{`[for i, x in local.list : i]`, "[0, 1]"},
		{`[for x in local.list : x if x != "x"]`, `["y"]`},
		{`[for x in var.names : { v = x }]`, "[{v: <string>}?*]"},
		{`[for x in var.names : x if x != "x"]`, "[<string>?*]"},
		{`{ for k, v in local.object : k => 1 }`, "{a: 1, b: 1}"},
		{`{ for n in var.names : n => 1 }`, "{*: 1?*}"},
		{`{ for n in var.names : n => 1... }`, "{*: [1*]?*}"},
		{`[for x in [] : 1]`, "[]"},
		{`local.list[*]`, `["x", "y"]`},
		{`[local.object][*].a`, `["x"]`},
		{`local.object[*].a`, `["x"]`},
		{`null[*]`, "[]"},
		{`var.names[*]`, "[<string>?*]"},
		{`local.far[*].id`, "[??*]"},
		{`tostring(5)`, `"5"`},
		{`tonumber("5")`, "5"},
		{`tobool("true")`, "true"},
		{`tostring(null)`, "null"},
		{`format("%999999999s", "x")`, "<string>"},
		{`format("%s", 1)`, `"1"`},
		{`format("%s", var.names[0])`, "<string>"},
		{`length(local.list)`, "<number>"},
		{`contains([], 1)`, "<bool>"},
		{`keys(local.object)`, "<list of string>"},
		{`try(null)`, "null"},
		{`try(local.far, 1, 2)`, "?|1"},
		{`coalesce(null, "x", "y")`, `"x"|"y"`},
		{`one([])`, "null"},
		{`one([1])`, "1"},
		{`one(var.names)`, "<string>|null"},
		{`element(local.list, 5)`, `"x"|"y"`},
		{`lookup(local.object, "a", 1)`, `"x"`},
		{`lookup(local.object, "q", 1)`, "?"},
		{`lookup(local.object, "q", "x")`, `"x"`},
		{`lookup(local.object, local.far, 1)`, `"x"|{c: 2}|1`},
		{`merge({ a = 1 }, { b = 2 }, null, { a = 3 })`, "{a: 3, b: 2}"},
		{`merge({ a = 1 }, local.far)`, "{a: ?, …}"},
		{`concat([1], [2])`, "[1, 2]"},
		{`concat([1], var.names)`, "[?|<string>?*]"},
		{`concat(tolist(["a"]), tolist([1]))`, `["a", ?]`},
		{`concat(["a"], ["b"])`, `["a", "b"]`},
		{`sort(["a"])`, `["a"*]`},
		{`sort(var.names)`, "<list of string>"},
		{`sort([2, "x"])`, `["2"|"x"*]`},
		{`compact([0.5, ""])`, `["0.5"]`},
		{`sort(compact([""]))`, "[]"},
		{`[for z in compact([""]) : { name = z }]`, "[]"},
		{`tomap({ a = 0.5, b = "x" })`, `{a: "0.5", b: "x"}`},
		{`tolist([{ a = 1 }, { a = "x" }])`, `[{a: "1"}, {a: "x"}]`},
		{`tolist([{ a = 1 }, { b = "x" }])`, `[{a: ?}, {b: "x"}]`},
		{`tolist([1, true])`, "[?, ?]"},
		{`reverse([1, "a"])`, `["a", 1]`},
		{`distinct([])`, "[]"},
		{`core::upper("x")`, `"X"`},
		{`join(",", ["a", 1])`, `"a,1"`},
		{`tolist(["a", "b"])`, `["a", "b"]`},
		{`toset([1, "a"])`, `["1"|"a"*]`},
		{`flatten([[1], [2]])`, "[1, 2]"},
		{`flatten([[1], local.far])`, "[?*]"},
		{`flatten([[local.far]])`, "[?*]"},
		{`values({ a = 1, b = 2 })`, "[1|2*]"},
		{`zipmap(var.names, [1])`, "{*: 1?*}"},
		{`sensitive("x")`, `"x"`},
		{`nonsensitive(sensitive("x"))`, `"x"`},
		{`jsondecode("{}")`, "?"},
		{`max(1, 2)`, "2"},
		{`max(local.list...)`, "<number>"},
		{`provider::x::y(1)`, "?"},
	}
	var b strings.Builder
	b.WriteString(world)
	for i, e := range exprs {
		fmt.Fprintf(&b, "\noutput \"e%d\" {\n  value = %s\n}\n", i, e.expr)
	}
	tree := load(t, map[string]string{"main.tf": b.String(), "child/main.tf": child})
	a := flow.New(tree.Primary, versions.Default().Spec(contract.RoleMachine))
	for i, e := range exprs {
		if got := show(a.Output(tree.Primary.Output(fmt.Sprintf("e%d", i)))); got != e.want {
			t.Errorf("%s is %s, want %s", e.expr, got, e.want)
		}
	}
}

func TestEvalJSON(t *testing.T) {
	tree := load(t, map[string]string{"main.tf.json": `{
  "locals": { "x": { "a": [1, "b", null, true] }, "key": "k" },
  "output": {
    "list": { "value": "${local.x.a}" },
    "object": { "value": { "a": "${local.x.a[1]}", "${local.key}": 1, "b": "-${local.x.a[0]}-" } },
    "open": { "value": { "${null_resource.x.id}": 1, "a": 2 } },
    "broken": { "value": "${" }
  }
}`})
	a := flow.New(tree.Primary, versions.Default().Spec(contract.RoleMachine))
	for name, want := range map[string]string{
		"list": `[1, "b", null, true]`, "object": `{a: "b", b: "-1-", k: 1}`, "open": "{a: ?, …}", "broken": "?",
	} {
		if got := show(a.Output(tree.Primary.Output(name))); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestLeaves(t *testing.T) {
	tree := load(t, map[string]string{"main.tf": world + `
output "x" {
  value = {
    a = local.choice
    b = [for n in var.names : "${n}-${module.child.number}"]
    c = null_resource.x.triggers["a"]
    d = nonsensitive(local.far)
    e = data.aws_ami.x.id
    f = var.untyped == 1 ? local.list : module.remote.out
    (local.one) = path.module
  }
}
`, "child/main.tf": child})
	a := flow.New(tree.Primary, versions.Default().Spec(contract.RoleMachine))
	var got []string
	for _, l := range a.Leaves(a.Root(), tree.Primary.Output("x").Value) {
		name := l.Traversal.RootName()
		switch {
		case l.Variable() != nil:
			name = "var." + l.Variable().Name
		case l.Resource() != nil:
			name = l.Resource().Address()
		}
		if l.Unmarked {
			name += " unmarked"
		}
		if l.Conditional {
			name += " conditional"
		}
		got = append(got, name)
	}
	slices.Sort(got)
	got = slices.Compact(got)
	want := []string{"data", "null_resource.x", "null_resource.x unmarked", "var.control_plane", "var.names", "var.untyped"}
	if !slices.Equal(got, want) {
		t.Errorf("leaves are %q, want %q", got, want)
	}
}

func load(t *testing.T, files map[string]string) *module.Tree {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := module.Load(dir, module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
