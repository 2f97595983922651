package schemas_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/fixtures"
	"github.com/captf-toolkit/captf/contract/schemas"
	"github.com/captf-toolkit/captf/contract/versions"
)

// compile checks the schema against its meta-schema and compiles it.
func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchemasAgreeWithContract judges every fixture by its schema.
func TestSchemasAgreeWithContract(t *testing.T) {
	for _, d := range versions.All() {
		compiled := map[string]*jsonschema.Schema{}
		for _, role := range contract.Roles() {
			in, err := schemas.Inputs(d.Version(), role)
			if err != nil {
				t.Fatal(err)
			}
			out, err := schemas.Outputs(d.Version(), role)
			if err != nil {
				t.Fatal(err)
			}
			compiled[string(role)+"/"+string(fixtures.Inputs)] = compile(t, in)
			compiled[string(role)+"/"+string(fixtures.Outputs)] = compile(t, out)
		}
		cases, err := fixtures.Cases(d.Version())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			t.Run(c.Path(), func(t *testing.T) {
				text, err := json.Marshal(c.Value)
				if err != nil {
					t.Fatal(err)
				}
				value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				err = compiled[string(c.Role)+"/"+string(c.Side)].Validate(value)
				if accepts := err == nil; accepts != c.SchemaAccepts {
					t.Errorf("the schema accepts: %t, want %t; it says %v", accepts, c.SchemaAccepts, err)
				}
			})
		}
	}
}

func TestUnknownSchema(t *testing.T) {
	if _, err := schemas.Inputs("v9", contract.RoleMachine); err == nil {
		t.Error("there is a schema for version v9")
	}
	if _, err := schemas.Outputs("v1alpha1", "router"); err == nil {
		t.Error("there is a schema for role router")
	}
}
