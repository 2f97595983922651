package jsonschema

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
)

func TestBuild(t *testing.T) {
	one, two := int64(1), int64(2)
	str := contract.Shape{Kind: contract.KindString}
	tests := []struct {
		name  string
		shape contract.Shape
		want  string
	}{
		{"string", contract.Shape{Kind: contract.KindString, MinLength: 1, MaxLength: 5, Pattern: "^<a>$"},
			`{"type":"string","minLength":1,"maxLength":5,"pattern":"^<a>$"}`},
		{"base64", contract.Shape{Kind: contract.KindString, Pattern: "x", Format: "base64"},
			`{"type":"string","pattern":"x","contentEncoding":"base64"}`},
		{"constant", contract.Shape{Kind: contract.KindString, Enum: []string{"a"}}, `{"type":"string","const":"a"}`},
		{"nullable constant", contract.Shape{Kind: contract.KindString, Enum: []string{"a"}, Nullable: true},
			`{"type":["string","null"],"enum":["a",null]}`},
		{"enum", contract.Shape{Kind: contract.KindString, Enum: []string{"a", "b"}}, `{"type":"string","enum":["a","b"]}`},
		{"integer", contract.Shape{Kind: contract.KindInteger, Min: &one, Max: &two, Nullable: true},
			`{"type":["integer","null"],"minimum":1,"maximum":2}`},
		{"bool", contract.Shape{Kind: contract.KindBool}, `{"type":"boolean"}`},
		{"list", contract.Shape{Kind: contract.KindList, Elem: &str, MinLength: 1, MaxLength: 2},
			`{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string"}}`},
		{"map", contract.Shape{Kind: contract.KindMap, Elem: &str, MinLength: 1, MaxLength: 2},
			`{"type":"object","minProperties":1,"maxProperties":2,"additionalProperties":{"type":"string"}}`},
		{"open object", contract.Shape{Kind: contract.KindObject, Attributes: []contract.Attribute{
			{Name: "z", Shape: str, Doc: "Z."},
			{Name: "a", Shape: contract.Shape{Kind: contract.KindBool}, Optional: true, Default: false},
		}}, `{"type":"object","required":["z"],"properties":{"z":{"description":"Z.","type":"string"},"a":{"type":"boolean","default":false}}}`},
		{"closed object", contract.Shape{Kind: contract.KindObject, Closed: true, Nullable: true},
			`{"type":["object","null"],"additionalProperties":false}`},
		{"anything", contract.Shape{Kind: contract.KindAny, Nullable: true}, `{}`},
		{"anything but null", contract.Shape{Kind: contract.KindAny}, `{"not":{"type":"null"}}`},
		{"whole numbers", contract.Shape{Kind: contract.KindAny, IntegersOnly: true, Nullable: true}, `{"$ref":"#/$defs/wholeNumbers"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := encode(build(tt.shape))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRoots checks what is around the rows; the files are compared as a whole
// by the generator's test.
func TestRoots(t *testing.T) {
	d := versions.Default()
	for _, role := range contract.Roles() {
		for side, generate := range map[string]func(contract.Definition, contract.Role) ([]byte, error){"inputs": Inputs, "outputs": Outputs} {
			text, err := generate(d, role)
			if err != nil {
				t.Fatal(err)
			}
			var root struct {
				Schema     string                     `json:"$schema"`
				ID         string                     `json:"$id"`
				Required   []string                   `json:"required"`
				Properties map[string]json.RawMessage `json:"properties"`
				Additional *bool                      `json:"additionalProperties"`
			}
			if err := json.Unmarshal(text, &root); err != nil {
				t.Fatal(err)
			}
			if want := "urn:captf:contract:" + d.Version() + ":" + string(role) + ":" + side; root.ID != want || root.Schema != draft {
				t.Errorf("schema %s of %s", root.ID, root.Schema)
			}
			var names []string
			if side == "inputs" {
				for _, in := range d.Spec(role).Inputs {
					names = append(names, in.Name)
				}
			} else {
				for _, out := range d.Spec(role).Outputs {
					names = append(names, out.Name)
				}
			}
			if diff := cmp.Diff(names, root.Required); diff != "" {
				t.Errorf("%s %s required (-table +schema):\n%s", role, side, diff)
			}
			if closed := root.Additional != nil && !*root.Additional; closed != (side == "inputs") {
				t.Errorf("%s %s: closed is %t", role, side, closed)
			}
		}
	}
	text, err := Inputs(d, contract.RoleCluster)
	if err != nil {
		t.Fatal(err)
	}
	var cluster struct {
		Properties map[string]struct{ Type string }
	}
	if err := json.Unmarshal(text, &cluster); err == nil && cluster.Properties["captf_cluster_outputs"].Type != "null" {
		t.Error("the schema of a cluster's inputs does not tolerate captf_cluster_outputs: null")
	}
}
