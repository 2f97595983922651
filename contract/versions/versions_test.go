package versions_test

import (
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
)

func TestGet(t *testing.T) {
	for _, name := range versions.Names() {
		d, err := versions.Get(name)
		if err != nil || d.Version() != name {
			t.Errorf("looking up %s: %v", name, err)
		}
	}
	_, err := versions.Get("v0")
	if err == nil || !strings.Contains(err.Error(), "v1alpha1") {
		t.Errorf("looking up an unknown version: %v", err)
	}
	if versions.Default() != versions.All()[0] {
		t.Error("the default is not the newest version")
	}
}

// TestTables holds every version against what consumers take for granted.
func TestTables(t *testing.T) {
	for _, d := range versions.All() {
		for _, role := range contract.Roles() {
			spec := d.Spec(role)
			if spec.Role != role {
				t.Errorf("the tables of %s are those of %q", role, spec.Role)
			}
			names := map[string]bool{}
			for _, in := range append(spec.Inputs, spec.Tolerated...) {
				check(t, names, in.Name, in.Doc, in.Shape)
				if in.Shape.Nullable && !in.MayDefault {
					t.Errorf("%s input %s may be null, but its declaration may not default to null", role, in.Name)
				}
				if in.Source == "" {
					t.Errorf("%s input %s comes from nowhere", role, in.Name)
				}
			}
			names = map[string]bool{}
			for _, out := range spec.Outputs {
				check(t, names, out.Name, out.Doc, out.Shape)
				if out.MapsTo == "" {
					t.Errorf("%s output %s goes nowhere", role, out.Name)
				}
				if (out.Null == contract.NullDefault) != (out.NullValue != nil) {
					t.Errorf("%s output %s: null means %s, its value is %v", role, out.Name, out.Null, out.NullValue)
				}
			}
			if last := spec.Outputs[len(spec.Outputs)-1]; last.Name != "health" {
				t.Errorf("%s: the last output is %s, not health", role, last.Name)
			}
		}
	}
}

func check(t *testing.T, names map[string]bool, name, doc string, s contract.Shape) {
	t.Helper()
	if names[name] {
		t.Errorf("%s is there twice", name)
	}
	names[name] = true
	if doc == "" || !strings.HasSuffix(doc, ".") {
		t.Errorf("the documentation of %s is no sentence: %q", name, doc)
	}
	checkShape(t, name, s)
}

func checkShape(t *testing.T, name string, s contract.Shape) {
	t.Helper()
	if (s.Kind == contract.KindList || s.Kind == contract.KindMap) != (s.Elem != nil) {
		t.Errorf("%s is a %s, its elements are %v", name, s.Kind, s.Elem)
	}
	if s.Elem != nil {
		checkShape(t, name+"[*]", *s.Elem)
	}
	if s.UniqueBy != "" {
		if _, ok := s.Elem.Attribute(s.UniqueBy); !ok {
			t.Errorf("%s is unique by %s, which it lacks", name, s.UniqueBy)
		}
	}
	for _, a := range s.Attributes {
		if a.Doc == "" || !strings.HasSuffix(a.Doc, ".") {
			t.Errorf("the documentation of %s.%s is no sentence: %q", name, a.Name, a.Doc)
		}
		if s.AsMap && !a.Shape.Type().Equals(s.Attributes[0].Shape.Type()) {
			t.Errorf("%s is a map, but %s has another type", name, a.Name)
		}
		checkShape(t, name+"."+a.Name, a.Shape)
	}
}
