package image_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract/image"
)

func addFiles(f *testing.F, glob string) {
	f.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds in %s: %v", glob, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
}

// FuzzLabels: no value makes a label's parser panic, and what it accepts it
// accepts again after a round trip.
func FuzzLabels(f *testing.F) {
	addFiles(f, "testdata/labels/*/*.txt")
	f.Fuzz(func(t *testing.T, value string) {
		for _, l := range image.Labels() {
			for _, v := range l.Check(value) {
				if v.Message == "" || v.Path == "" {
					t.Errorf("%s: violation without message or path", l.Key)
				}
			}
		}
		if c, vs := image.ParseCapacity(value); len(vs) == 0 {
			again, vs := image.ParseCapacity(c.Label())
			if len(vs) > 0 || len(again) != len(c) {
				t.Errorf("capacity %s does not round trip: %v", value, vs)
			}
		}
		if s, vs := image.ParseSchema(value); len(vs) == 0 {
			label, err := s.Label()
			if err != nil {
				t.Fatal(err)
			}
			if len(label) > image.MaxVariablesSchema {
				return // white space in the original can make room for what is written out
			}
			if _, vs := image.ParseSchema(label); len(vs) > 0 {
				t.Errorf("schema %s does not round trip: %v", value, vs)
			}
			s.Validate(map[string]json.RawMessage{"a": json.RawMessage(value), "b": json.RawMessage(`"x"`)})
		}
	})
}

// FuzzMirror: every file is a package, an index or a stray, and nothing else.
func FuzzMirror(f *testing.F) {
	addFiles(f, "testdata/mirrors/*/files.txt")
	f.Fuzz(func(t *testing.T, list string) {
		files := strings.Split(list, "\n")
		m := image.ParseMirror(files)
		if len(m.Packages)+len(m.Strays) > len(files) {
			t.Errorf("%d packages and %d strays from %d files", len(m.Packages), len(m.Strays), len(files))
		}
		for _, p := range m.Packages {
			if !p.Platform.Valid() || strings.Count(p.Provider, "/") != 2 || p.Version == "" {
				t.Errorf("package %+v", p)
			}
		}
	})
}

// variableType draws a type that a variable can have.
func variableType() *rapid.Generator[cty.Type] {
	leaf := rapid.SampledFrom([]cty.Type{cty.String, cty.Number, cty.Bool, cty.DynamicPseudoType})
	var nested func(depth int) *rapid.Generator[cty.Type]
	nested = func(depth int) *rapid.Generator[cty.Type] {
		if depth == 0 {
			return leaf
		}
		inner := nested(depth - 1)
		return rapid.OneOf(leaf,
			rapid.Map(inner, cty.List), rapid.Map(inner, cty.Set), rapid.Map(inner, cty.Map),
			rapid.Map(rapid.SliceOfN(inner, 0, 3), cty.Tuple),
			rapid.Custom(func(t *rapid.T) cty.Type {
				attributes := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), inner, 0, 3).Draw(t, "attributes")
				var optional []string
				for name := range attributes {
					if rapid.Bool().Draw(t, "optional") {
						optional = append(optional, name)
					}
				}
				return cty.ObjectWithOptionalAttrs(attributes, optional)
			}),
		)
	}
	return nested(3)
}

// TestSchemaRoundTrip: the schema of any type is one of the subset, and reading
// it and writing it again changes nothing.
func TestSchemaRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := &image.Schema{Type: "object", Closed: true, Properties: map[string]*image.Schema{
			"v": image.SchemaOf(variableType().Draw(t, "type")),
		}}
		label, err := top.Label()
		if err != nil {
			t.Fatal(err)
		}
		read, vs := image.ParseSchema(label)
		if len(vs) > 0 {
			t.Fatalf("%s: %v", label, vs)
		}
		again, err := read.Label()
		if err != nil {
			t.Fatal(err)
		}
		if again != label {
			t.Fatalf("wrote %s, then %s", label, again)
		}
		if vs := read.Validate(map[string]json.RawMessage{"v": json.RawMessage("null")}); len(vs) > 0 {
			t.Fatalf("null is refused by %s: %v", label, vs)
		}
	})
}
