package move_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	reflector "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/sdk/move"
)

// reference is where generated pages are.
const reference = "../../docs/reference"

// TestSchema generates the schema of the JSON report from its Go types, and holds reports of all cases against it.
func TestSchema(t *testing.T) {
	path := filepath.Join(reference, "move-check.schema.json")
	golden.Assert(t, path, reportSchema(t))
	s, err := jsonschema.NewCompiler().Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	validate := func(raw []byte) error {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(doc)
	}
	var last string
	for _, c := range cases(t) {
		r, err := move.Check(t.Context(), c.options(t))
		if err != nil {
			continue // another test compares it
		}
		var out bytes.Buffer
		if err := r.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		if err := validate(out.Bytes()); err != nil {
			t.Errorf("%s: %v", c.dir, err)
		}
		last = out.String()
	}
	for _, change := range [][2]string{{`"severity": "`, `"severity": "x`}, {`"findings": [`, `"findings": null, "x": [`}, {`"id": "move/`, `"id": "`}, {`"side": "`, `"side": "x`}} {
		broken := strings.Replace(last, change[0], change[1], 1)
		if broken == last || validate([]byte(broken)) == nil {
			t.Errorf("with %s the schema accepts the report", change[1])
		}
	}
}

func reportSchema(t *testing.T) []byte {
	t.Helper()
	enums := map[reflect.Type][]any{
		reflect.TypeFor[move.Severity](): {},
		reflect.TypeFor[move.Side]():     {move.SideSource, move.SideTarget},
	}
	for _, s := range move.Severities() {
		enums[reflect.TypeFor[move.Severity]()] = append(enums[reflect.TypeFor[move.Severity]()], s)
	}
	r := reflector.Reflector{ExpandedStruct: true, Anonymous: true, Mapper: func(typ reflect.Type) *reflector.Schema {
		if values, ok := enums[typ]; ok {
			return &reflector.Schema{Type: "string", Enum: values}
		}
		return nil
	}}
	if err := r.AddGoComments("github.com/captf-toolkit/captf/sdk/move", ".", reflector.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
	s := r.Reflect(&move.Report{})
	s.ID, s.Title, s.Description = "urn:captf:move:check", "Report of captf move check", ""
	id, ok := s.Definitions["Finding"].Properties.Get("id")
	if !ok {
		t.Fatal("the schema has no id")
	}
	for _, rule := range move.Rules() {
		id.Enum = append(id.Enum, rule.ID)
	}
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(raw, '\n')
}

// TestReference generates the reference page from the table of rules.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Findings of captf move check

This page is generated from the table in [sdk/move/rules.go](../../sdk/move/rules.go); the identifiers never change their meaning.
[Moving a cluster](../move.md) says how to use them, [move-check.schema.json](move-check.schema.json) is the schema of
` + "`--output json`" + `. With an error the answer is no, and the exit code 1.

| Finding | Severity | Found when | Because |
| --- | --- | --- | --- |
`)
	for _, r := range move.Rules() {
		var severities []string
		for _, s := range r.Severities {
			severities = append(severities, string(s))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, strings.Join(severities, ", "), r.Finds, strings.NewReplacer("<", "&lt;", "|", "\\|").Replace(r.Why))
	}
	golden.Assert(t, filepath.Join(reference, "move-check.md"), []byte(b.String()))
}
