package schema_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint/schema"
	"github.com/captf-toolkit/captf/sdk/module"
)

func of(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	tree, err := module.Load(dir, module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := schema.Of(tree.Primary, versions.Default().Spec(contract.RoleMachine))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestTypes(t *testing.T) {
	for _, tc := range []struct{ typ, want string }{
		{"string", `{"type":"string"}`},
		{"number", `{"type":"number"}`},
		{"bool", `{"type":"boolean"}`},
		{"any", `{}`},
		{"list(string)", `{"type":"array","items":{"type":"string"}}`},
		{"set(number)", `{"type":"array","items":{"type":"number"}}`},
		{"list(any)", `{"type":"array","items":{}}`},
		{"map(bool)", `{"type":"object","additionalProperties":{"type":"boolean"}}`},
		{"map(any)", `{"type":"object","additionalProperties":{}}`},
		{"tuple([string, number])", `{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}]}`},
		{"tuple([])", `{"type":"array","prefixItems":[]}`},
		{"object({})", `{"type":"object"}`},
		{"object({ b = string, a = optional(number), c = map(list(string)) })",
			`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string"},"c":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}},"required":["b","c"]}`},
	} {
		got := of(t, "variable \"x\" {\n  type    = "+tc.typ+"\n  default = null\n}\n")
		want := `{"type":"object","properties":{"x":` + tc.want + `},"additionalProperties":false}`
		if got != want {
			t.Errorf("%s gives %s, want %s", tc.typ, got, want)
		}
	}
}

func TestContractInputsAreLeftOut(t *testing.T) {
	got := of(t, `
variable "zeta" {}
variable "alpha" {
  type = string
}
variable "machine_name" {
  type = string
}
variable "captf_tags" {
  type = map(string)
}
variable "captf_other" {}
variable "replicas" {
  type    = number
  default = 1
}
`)
	want := `{"type":"object","properties":{"alpha":{"type":"string"},"replicas":{"type":"number"},"zeta":{}},"required":["alpha","zeta"],"additionalProperties":false}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestModuleWithoutUserVariables(t *testing.T) {
	if got := of(t, "output \"x\" {\n  value = 1\n}\n"); got != `{"type":"object","additionalProperties":false}` {
		t.Errorf("got %s", got)
	}
}

// TestValidates uses the schema on values, so that it is not only text.
func TestValidates(t *testing.T) {
	text := of(t, `
variable "disks" {
  type = list(object({ size = number, kind = optional(string) }))
}
`)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("x.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("x.json")
	if err != nil {
		t.Fatal(err)
	}
	for value, ok := range map[string]bool{
		`{"disks":[{"size":1}]}`:                         true,
		`{"disks":[{"size":1,"kind":"x","other":true}]}`: true,
		`{"disks":[{}]}`:                                 false,
		`{}`:                                             false,
		`{"disks":[],"more":1}`:                          false,
	} {
		var v any
		if err := json.NewDecoder(bytes.NewReader([]byte(value))).Decode(&v); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(v); (err == nil) != ok {
			t.Errorf("%s: %v", value, err)
		}
	}
}
