package simcloud_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/sdk/simcloud"
	"github.com/captf-toolkit/captf/sdk/simcloud/schemas"
)

// A schema file that cannot be used is refused with what is wrong and where.
func TestBadSchemas(t *testing.T) {
	deep := strings.Repeat(`["list",`, 100) + `"string"` + strings.Repeat("]", 100)
	attribute := func(a string) string { return `{"resource_schemas":{"x_y":{"block":{"attributes":{"a":` + a + `}}}}}` }
	for name, c := range map[string]struct{ text, source, says string }{
		"nothing":             {"", "a/b", "it ends in the middle"},
		"no JSON":             {"resource", "a/b", "it is no JSON"},
		"a list":              {"[]", "a/b", "a JSON object is expected"},
		"cut":                 {`{"resource_schemas":{"x_y":{"block"`, "a/b", "it ends in the middle"},
		"empty":               {"{}", "a/b", "it holds no schema of a provider"},
		"more after the end":  {`{"provider":{}} {}`, "a/b", "there is more after the end"},
		"another provider":    {`{"source":"c/d","provider":{}}`, "a/b", "it is the schema of c/d and not of a/b"},
		"newer form":          {`{"captf_schema":99,"provider":{}}`, "a/b", "use a newer captf"},
		"protocol":            {`{"protocol":4,"provider":{}}`, "a/b", "version 4 of the plugin protocol"},
		"no such provider":    {`{"provider_schemas":{"registry.terraform.io/hashicorp/time":{"provider":{}}}}`, "a/b", "no schema of a/b; it has hashicorp/time"},
		"which":               {`{"provider_schemas":{"x.org/a/b":{"provider":{}},"x.org/c/d":{"provider":{}}}}`, "", "say which with SOURCE=FILE"},
		"a type's name":       {attribute(`{"type":"strang"}`), "a/b", `"strang" is no type`},
		"a kind of type":      {attribute(`{"type":["bag","string"]}`), "a/b", `"bag" is no kind of type`},
		"a type's parts":      {attribute(`{"type":["list","string","string"]}`), "a/b", "more parts"},
		"a number for a type": {attribute(`{"type":7}`), "a/b", "a JSON string or list"},
		"no type":             {attribute(`{"optional":true}`), "a/b", "resource x_y: attribute a: it has no type"},
		"null":                {attribute(`null`), "a/b", "attribute a: it is null"},
		"nested too deep":     {attribute(`{"type":` + deep + `}`), "a/b", "nested more than 64 deep"},
		"a text for a bool":   {attribute(`{"type":"string","optional":"yes"}`), "a/b", "JSON string"},
		"nesting of a block":  {`{"resource_schemas":{"x_y":{"block":{"block_types":{"b":{"nesting_mode":"heap"}}}}}}`, "a/b", `block b: "heap" is no way to nest blocks`},
		"nesting of a type":   {attribute(`{"nested_type":{"nesting_mode":"group","attributes":{}}}`), "a/b", `"group" is no way to nest attributes`},
		"a function":          {`{"functions":{"f":{"parameters":[{"name":"x"}],"return_type":"string"}}}`, "a/b", "function f: parameter 1: it has no type"},
		"invalid UTF-8":       {"{\"resource_schemas\":{\"x_\xff\":{}}}", "a/b", "it is no JSON"},
		"broken gzip":         {"\x1f\x8b\x08\x00", "a/b", "unpacking it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := simcloud.ReadSchema(strings.NewReader(c.text), simcloud.ReadOptions{Source: c.source})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v, want %q", err, c.says)
			}
		})
	}
}

// What is wrong with a type is said when the file is opened, also of a type
// that nobody asks for.
func TestSchemaOfUnwantedTypes(t *testing.T) {
	for text, says := range map[string]string{
		`{"resource_schemas":{"x_y":5}}`:                      "resource x_y: it is no schema",
		`{"resource_schemas":{"x_y":{}}}`:                     "resource x_y: it is no schema",
		`{"data_source_schemas":{"x_y":{"block":[]}}}`:        "x_y: it is no schema",
		`{"resource_schemas":{"x_y":{"block":{}}}}`:           "",
		`{"resource_schemas":{"x_y":{"block":{},"block":5}}}`: "",
	} {
		_, err := simcloud.ReadSchema(strings.NewReader(text), simcloud.ReadOptions{Source: "a/b", Types: &simcloud.Types{}})
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: the error is %v, want %q", text, err, says)
		}
	}
}

// A small file that unpacks to a huge one is refused, and never held in memory.
func TestSchemaBomb(t *testing.T) {
	simcloud.SetSchemaLimits(t, 2<<20, 16<<20)
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte(" "), 1<<20)
	for range 17 {
		if _, err := z.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = simcloud.ReadSchema(&packed, simcloud.ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "it unpacks to more than 16 MiB") {
		t.Errorf("the error is %v", err)
	}
	_, err = simcloud.ReadSchema(io.LimitReader(spaces{}, 3<<20), simcloud.ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "it is larger than 2 MiB") {
		t.Errorf("the error is %v", err)
	}
}

// spaces never end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// A schema in which every optional attribute is computed is told from a real one, and
// mended: by name, by the persona, and for data sources.
func TestDerivedSchema(t *testing.T) {
	p := &simcloud.Persona{Types: map[string]simcloud.TypeRule{"x_thing": {
		Cloud: []string{"chosen", "part.chosen"}, Plain: []string{"arn"}, Defaults: map[string]any{"kind": "small"}, Values: map[string]simcloud.Value{"made": simcloud.Const("m")},
	}}}
	attrs := map[string]bool{ // name to whether it stays computed
		"id": true, "private_ip": true, "dns_name": true, "name": false, "size": false, "chosen": true, "kind": true, "made": true, "arn": false, "tags_all": true,
	}
	var list []string
	for name := range attrs {
		typ := `"string"`
		if name == "tags_all" {
			typ = `["map","string"]`
		}
		list = append(list, `"`+name+`":{"type":`+typ+`,"optional":true,"computed":true}`)
	}
	block := `{"attributes":{` + strings.Join(list, ",") + `},"block_types":{"part":{"nesting_mode":"list","block":{"attributes":{
		"id":{"type":"string","optional":true,"computed":true},"chosen":{"type":"string","optional":true,"computed":true}}}}}}`
	text := `{"provider":{"block":{"attributes":{"alias":{"type":"string","optional":true,"computed":true},"region":{"type":"string","optional":true,"computed":true}}}},
		"resource_schemas":{"x_thing":{"block":` + block + `}},"data_source_schemas":{"x_thing":{"block":` + block + `}}}`
	s, err := simcloud.ReadSchema(strings.NewReader(text), simcloud.ReadOptions{Source: "a/x", Persona: p})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Derived() {
		t.Error("it is not taken for a derived one")
	}
	for _, a := range s.Resources["x_thing"].Block.Attributes {
		if a.Computed != attrs[a.Name] {
			t.Errorf("%s is computed: %t", a.Name, a.Computed)
		}
	}
	for _, a := range s.Resources["x_thing"].Block.BlockTypes[0].Block.Attributes {
		if a.Computed != (a.Name == "chosen") {
			t.Errorf("part.%s is computed: %t", a.Name, a.Computed)
		}
	}
	for _, a := range s.Data["x_thing"].Block.Attributes {
		if !a.Computed {
			t.Errorf("the data source does not answer %s", a.Name)
		}
	}
	if got := s.Provider.Block.Attributes; len(got) != 1 || got[0].Name != "region" || got[0].Computed {
		t.Errorf("the provider's configuration has %+v", got)
	}
	real, err := simcloud.ReadSchema(strings.NewReader(strings.Replace(text, `"optional":true,"computed":true`, `"optional":true`, 3)), simcloud.ReadOptions{Source: "a/x"})
	if err != nil {
		t.Fatal(err)
	}
	if real.Derived() {
		t.Error("a schema with an optional attribute that is not computed is taken for a derived one")
	}
}

// What is recorded is small, the same each time, and reads as it was.
func TestRecord(t *testing.T) {
	raw, err := os.ReadFile("testdata/tiny.json")
	if err != nil {
		t.Fatal(err)
	}
	record := func(text []byte, o simcloud.RecordOptions) ([]byte, simcloud.Entry) {
		var out bytes.Buffer
		e, err := simcloud.Record(&out, bytes.NewReader(text), o)
		if err != nil {
			t.Fatal(err)
		}
		return out.Bytes(), e
	}
	first, e := record(raw, simcloud.RecordOptions{})
	again, _ := record(first, simcloud.RecordOptions{})
	if !bytes.Equal(first, again) {
		t.Error("recording what was recorded changes it")
	}
	if e.Pruned || e.Version != "1.2.3" || e.Protocol != 6 {
		t.Errorf("the head is %+v", e.Header)
	}
	want, err := simcloud.ReadSchema(bytes.NewReader(raw), simcloud.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := simcloud.ReadSchema(bytes.NewReader(first), simcloud.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("it reads otherwise (-want +got):\n%s", d)
	}
	pruned, e := record(raw, simcloud.RecordOptions{Types: &simcloud.Types{Resources: map[string]bool{"tiny_network": true}}})
	if !e.Pruned || len(e.Types.Resources) != 1 || len(pruned) >= len(first) {
		t.Errorf("the pruned one has %+v", e)
	}
}

// A catalog prefers a user's file, reads once, and says what is missing.
func TestCatalog(t *testing.T) {
	raw, err := os.ReadFile("testdata/tiny.json")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if _, err := simcloud.Record(&packed, bytes.NewReader(raw), simcloud.RecordOptions{}); err != nil {
		t.Fatal(err)
	}
	c := simcloud.NewCatalog(fstest.MapFS{"recorded/example.com_acme_tiny.json.gz": {Data: packed.Bytes()}})
	a, err := c.Schema("example.com/acme/tiny", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := c.Schema("example.com/acme/tiny", nil, nil); a != b {
		t.Error("it was read twice")
	}
	if few, _ := c.Schema("example.com/acme/tiny", &simcloud.Types{Resources: map[string]bool{"tiny_network": true}}, nil); len(few.Resources) != 1 || len(few.Has.Resources) != 3 {
		t.Errorf("asked for one type, got %d of %d", len(few.Resources), len(few.Has.Resources))
	}
	_, err = c.Schema("hashicorp/other", nil, nil)
	if none, is := errors.AsType[*simcloud.NoSchemaError](err); !is || none.Source != "hashicorp/other" || !strings.Contains(err.Error(), "captf simcloud record --provider hashicorp/other") {
		t.Errorf("the error is %v", err)
	}
	if err := c.AddFile("", "testdata/tiny.json"); err != nil {
		t.Fatal(err)
	}
	entries, err := c.Entries()
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].File == "" {
		t.Errorf("entries: %+v", entries)
	}
	if err := c.AddFile("", "testdata"); err == nil {
		t.Error("a directory is taken for a schema")
	}
}

// Every built-in schema can be read, says where it comes from, and is pruned.
func TestBuiltin(t *testing.T) {
	entries, err := simcloud.NewCatalog(schemas.Files).Entries()
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		t.Fatal("there is none")
	}
	for _, e := range entries {
		if e.Source == "" || !e.Pruned || len(e.Types.Resources) == 0 {
			t.Errorf("%+v", e.Header)
		}
	}
}

// FuzzReadSchema looks for schemas that make reading panic, or that cannot be served.
func FuzzReadSchema(f *testing.F) {
	raw, err := os.ReadFile("testdata/tiny.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"provider_schemas":{"registry.terraform.io/hashicorp/time":{"provider":{"block":{"description_kind":"plain"}}}}}`))
	f.Add([]byte(`{"resource_schemas":{"x_y":{"block":{"attributes":{"a":{"type":["object",{"b":["tuple",["string","dynamic"]]}]}}}}}}`))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := simcloud.ReadSchema(bytes.NewReader(text), simcloud.ReadOptions{Source: "a/b"})
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), " ") {
				t.Errorf("the error is no sentence: %v", err)
			}
			return
		}
		for _, r := range s.Resources {
			r.ValueType()
		}
		var out bytes.Buffer
		if _, err := simcloud.Record(&out, bytes.NewReader(text), simcloud.RecordOptions{Source: "a/b"}); err != nil {
			t.Errorf("it can be read, and not recorded: %v", err)
		}
	})
}
