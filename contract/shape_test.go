package contract_test

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
)

// shapes returns every shape of every table, by name.
func shapes() map[string]contract.Shape {
	out := map[string]contract.Shape{
		"empty object": {Kind: contract.KindObject},
	}
	for _, d := range versions.All() {
		for _, role := range contract.Roles() {
			spec := d.Spec(role)
			for _, in := range append(spec.Inputs, spec.Tolerated...) {
				out[string(role)+" input "+in.Name] = in.Shape
			}
			for _, o := range spec.Outputs {
				out[string(role)+" output "+o.Name] = o.Shape
			}
		}
	}
	return out
}

// TestTypeExprMeansType parses the HCL text of every shape as the runtimes
// would and compares the type; the text is laid out as their formatters do.
func TestTypeExprMeansType(t *testing.T) {
	for name, shape := range shapes() {
		text := shape.TypeExpr()
		expr, diags := hclsyntax.ParseExpression([]byte(text), "type", hcl.InitialPos)
		if diags.HasErrors() {
			t.Errorf("%s: %s: %v", name, text, diags)
			continue
		}
		got, _, diags := typeexpr.TypeConstraintWithDefaults(expr)
		if diags.HasErrors() {
			t.Errorf("%s: %s: %v", name, text, diags)
			continue
		}
		if !got.Equals(shape.Type()) {
			t.Errorf("%s: %s means %#v, the type is %#v", name, text, got, shape.Type())
		}
		if formatted := string(hclwrite.Format([]byte(text))); formatted != text {
			t.Errorf("%s: %s is formatted as %s", name, text, formatted)
		}
	}
}

func TestTypeExpr(t *testing.T) {
	d := versions.Default()
	for _, tt := range []struct {
		role contract.Role
		name string
		want string
	}{
		{contract.RoleCluster, "control_plane_endpoint", "object({ host = string, port = number })"},
		{contract.RoleMachinePool, "failure_domains", "list(string)"},
		{contract.RoleMachine, "captf_tags", "map(string)"},
		{contract.RoleMachine, "captf_cluster_outputs", "any"},
		{contract.RoleMachine, "control_plane", "bool"},
	} {
		in, _ := d.Spec(tt.role).Input(tt.name)
		if got := in.Shape.TypeExpr(); got != tt.want {
			t.Errorf("%s has the type %s, want %s", tt.name, got, tt.want)
		}
	}
	out, _ := d.Spec(contract.RoleCluster).Output("failure_domains")
	const want = "list(object({ name = string, control_plane = optional(bool, true), attributes = optional(map(string), {}) }))"
	if got := out.Shape.TypeExpr(); got != want {
		t.Errorf("failure_domains has the type %s, want %s", got, want)
	}
}

func TestDescribe(t *testing.T) {
	one, two := int64(1), int64(2)
	str := contract.Shape{Kind: contract.KindString}
	for _, tt := range []struct {
		shape contract.Shape
		want  string
	}{
		{str, "a string"},
		{contract.Shape{Kind: contract.KindString, MinLength: 1}, "a string that is not empty"},
		{contract.Shape{Kind: contract.KindString, MaxLength: 9, Nullable: true}, "a string of 0 to 9 characters, or null"},
		{contract.Shape{Kind: contract.KindString, Pattern: "^a$"}, "a string that matches ^a$"},
		{contract.Shape{Kind: contract.KindString, Pattern: "x", Format: "base64"}, "padded standard base64"},
		{contract.Shape{Kind: contract.KindString, Enum: []string{"a"}}, `"a"`},
		{contract.Shape{Kind: contract.KindString, Enum: []string{"a", "b"}}, "one of a, b"},
		{contract.Shape{Kind: contract.KindInteger}, "a whole number"},
		{contract.Shape{Kind: contract.KindInteger, Min: &one}, "a whole number of at least 1"},
		{contract.Shape{Kind: contract.KindInteger, Max: &two}, "a whole number of at most 2"},
		{contract.Shape{Kind: contract.KindInteger, Min: &one, Max: &two}, "a whole number from 1 to 2"},
		{contract.Shape{Kind: contract.KindBool}, "true or false"},
		{contract.Shape{Kind: contract.KindList, Elem: &str, MaxLength: 3}, "a list of at most 3, each item a string"},
		{contract.Shape{Kind: contract.KindList, Elem: &str, Truncate: 3}, "a list, of which 3 items are kept, each item a string"},
		{contract.Shape{Kind: contract.KindMap, Elem: &str}, "a map, each value a string"},
		{contract.Shape{Kind: contract.KindAny}, "any value"},
		{contract.Shape{Kind: contract.KindAny, IntegersOnly: true}, "any value whose numbers are whole"},
	} {
		if got := tt.shape.Describe(); got != tt.want {
			t.Errorf("described as %q, want %q", got, tt.want)
		}
	}
}

// TestValidate has what the tables of the contract do not use.
func TestValidate(t *testing.T) {
	one, two := int64(1), int64(2)
	str := contract.Shape{Kind: contract.KindString}
	list := contract.Shape{Kind: contract.KindList, Elem: &str, MinLength: 1}
	unique := contract.Shape{Kind: contract.KindList, UniqueBy: "n", Elem: &contract.Shape{Kind: contract.KindObject}}
	for _, tt := range []struct {
		name, text string
		shape      contract.Shape
		want       []string
	}{
		{"pattern", `"b"`, contract.Shape{Kind: contract.KindString, Pattern: "^a+$"}, []string{"x pattern"}},
		{"pattern met", `"aa"`, contract.Shape{Kind: contract.KindString, Pattern: "^a+$"}, nil},
		{"too few items", `[]`, list, []string{"x minItems"}},
		{"too few members", `{}`, contract.Shape{Kind: contract.KindMap, Elem: &str, MinLength: 1}, []string{"x minItems"}},
		{"map", `["a"]`, contract.Shape{Kind: contract.KindMap, Elem: &str}, []string{"x type"}},
		{"no bounds", `99`, contract.Shape{Kind: contract.KindInteger}, nil},
		{"below any word", `-99999999999999999999`, contract.Shape{Kind: contract.KindInteger}, []string{"x minimum"}},
		{"above any word", `99999999999999999999`, contract.Shape{Kind: contract.KindInteger}, []string{"x maximum"}},
		{"below", `0`, contract.Shape{Kind: contract.KindInteger, Min: &one, Max: &two}, []string{"x minimum"}},
		{"above", `3`, contract.Shape{Kind: contract.KindInteger, Min: &one, Max: &two}, []string{"x maximum"}},
		{"bool as a number", `true`, contract.Shape{Kind: contract.KindInteger}, []string{"x type"}},
		{"fractions", `[0.5]`, contract.Shape{Kind: contract.KindAny}, nil},
		{"items that are no objects", `[1,1,{"n":2},{"n":2}]`, unique, []string{"x[0] type", "x[1] type"}},
		{"the same", `[{"n":"a"},{"n":"b"},{"n":"a"}]`, unique, []string{"x[2].n unique"}},
	} {
		value, broken := contract.ParseJSON("x", []byte(tt.text))
		if broken != nil {
			t.Fatal(broken)
		}
		var got []string
		for _, v := range tt.shape.Validate("x", value) {
			got = append(got, v.Path+" "+v.Rule)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if vs := str.Validate("x", 7); !vs.Has(contract.RuleType) || !strings.Contains(vs[0].Message, "int") {
		t.Errorf("a Go value that is no JSON: %v", vs)
	}
	anything := contract.Shape{Kind: contract.KindAny}
	if vs := anything.Validate("x", map[string]any{"\xff": "\xff"}); len(vs) != 2 || !vs.Has(contract.RuleUTF8) {
		t.Errorf("text that is not UTF-8: %v", vs)
	}
}

// TestComplete leaves its argument alone.
func TestComplete(t *testing.T) {
	out, _ := versions.Default().Spec(contract.RoleCluster).Output("failure_domains")
	value := []any{map[string]any{"name": "a", "more": 1, "control_plane": nil}}
	got := out.Shape.Complete(value)
	want := []any{map[string]any{"name": "a", "control_plane": true, "attributes": map[string]any{}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{map[string]any{"name": "a", "more": 1, "control_plane": nil}}, value); diff != "" {
		t.Errorf("the value was changed:\n%s", diff)
	}
	str := contract.Shape{Kind: contract.KindString}
	for _, shape := range []contract.Shape{{Kind: contract.KindAny}, str} {
		for _, value := range []any{[]any{"a"}, map[string]any{"a": nil}, nil, "x"} {
			if diff := cmp.Diff(value, shape.Complete(value)); diff != "" {
				t.Errorf("a %s without parts changes %v:\n%s", shape.Kind, value, diff)
			}
		}
	}
	labels := contract.Shape{Kind: contract.KindMap, Elem: &str}
	if diff := cmp.Diff(map[string]any{"a": "b"}, labels.Complete(map[string]any{"a": "b"})); diff != "" {
		t.Errorf("a map changes:\n%s", diff)
	}
}

// TestBase64MeansPattern compares the hand-written check with the pattern that
// schemas state.
func TestBase64MeansPattern(t *testing.T) {
	in, _ := versions.Default().Spec(contract.RoleMachine).Input("bootstrap_data")
	pattern := regexp.MustCompile(in.Shape.Pattern)
	texts := rapid.OneOf(
		rapid.StringMatching(`[A-Za-z0-9+/]{0,9}={0,3}`),
		rapid.StringMatching(`[A-Za-z0-9+/=_\n -]{0,8}`),
		rapid.Map(rapid.SliceOf(rapid.Byte()), base64.StdEncoding.EncodeToString),
		rapid.Map(rapid.SliceOf(rapid.Byte()), base64.RawURLEncoding.EncodeToString),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		accepted := len(in.Shape.Validate("x", text)) == 0
		if accepted != pattern.MatchString(text) {
			t.Fatalf("%q: accepted is %t, the pattern says otherwise", text, accepted)
		}
	})
}

func TestAttribute(t *testing.T) {
	out, _ := versions.Default().Spec(contract.RoleMachine).Output("health")
	if a, ok := out.Shape.Attribute("state"); !ok || a.Name != "state" {
		t.Errorf("health has no state: %+v", a)
	}
	if _, ok := out.Shape.Attribute("since"); ok {
		t.Error("health has an attribute since")
	}
}
