package scenario_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
	"github.com/captf-toolkit/captf/sdk/harness/rke2"
	"github.com/captf-toolkit/captf/sdk/harness/scenario"
)

const reference = "../../../docs/reference/"

// Every file of testdata/good is read, and the schema accepts it.
func TestGood(t *testing.T) {
	schema := compile(t)
	for _, name := range files(t, "testdata/good/*") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			s, err := scenario.Load(name, scenario.OptionsFor(kcp.New()))
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Steps) == 0 || s.ID == "" || s.File != name {
				t.Errorf("it was read as %+v", s)
			}
			if err := schema.Validate(document(t, name)); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
		})
	}
}

// Every file of testdata/bad is refused with the lines that its last lines say:
// comments "# want: LINE:COLUMN: part of the message".
func TestBad(t *testing.T) {
	for _, name := range files(t, "testdata/bad/*.yaml") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for line := range strings.Lines(string(text)) {
				if w, ok := strings.CutPrefix(line, "# want: "); ok {
					want = append(want, strings.TrimSpace(w))
				}
			}
			if len(want) == 0 {
				t.Fatal("the file has no line # want:")
			}
			_, err = scenario.Load(name, scenario.OptionsFor(kcp.New()))
			if err == nil {
				t.Fatal("it is accepted")
			}
			got := strings.Split(err.Error(), "\n")
			if len(got) != len(want) {
				t.Errorf("%d mistakes, want %d:\n%s", len(got), len(want), err)
			}
			for n, w := range want {
				if n < len(got) && !strings.HasPrefix(got[n], name+":") || n < len(got) && !strings.Contains(got[n], w) {
					t.Errorf("mistake %d is %q, want %q", n+1, got[n], w)
				}
			}
		})
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("reading %s: %v", pattern, err)
	}
	return names
}

// compile returns the checked-in schema.
func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(reference + "harness-scenario.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// document reads a file as JSON would have it.
func document(t *testing.T, name string) any {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// The schema and the page are what the code says.
func TestReference(t *testing.T) {
	schema, err := scenario.Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, reference+"harness-scenario.schema.json", schema)
	golden.Assert(t, reference+"scenarios.md", scenario.Page(kcp.New(), rke2.New()))
}

// What is built in is what a user's file would be: the schema accepts it, it has
// a source, and it can be read from disk.
func TestBuiltins(t *testing.T) {
	schema := compile(t)
	for _, cp := range []*harness.ControlPlane{kcp.New(), rke2.New()} {
		kinds := map[harness.FaultKind]bool{}
		for _, s := range cp.Scenarios {
			t.Run(cp.Name+"/"+s.ID, func(t *testing.T) {
				name := filepath.Join(t.TempDir(), s.ID+".yaml")
				if err := os.WriteFile(name, []byte(s.Text), 0o600); err != nil {
					t.Fatal(err)
				}
				again, err := scenario.Load(name, scenario.OptionsFor(cp))
				if err != nil {
					t.Fatal(err)
				}
				again.File, again.Text = "", s.Text
				if diff := cmp.Diff(s, again); diff != "" {
					t.Errorf("read again it differs:\n%s", diff)
				}
				if err := schema.Validate(document(t, name)); err != nil {
					t.Errorf("the schema refuses it: %v", err)
				}
				if s.Source == "" {
					t.Error("it does not say where it comes from")
				}
			})
			for _, step := range s.Steps {
				if step.Fault != nil {
					kinds[step.Fault.Kind] = true
				}
			}
		}
		for _, info := range harness.Faults() {
			if info.Kind == harness.FaultTokenRotates && cp.Rotates == 0 {
				continue // its bootstrap data is never rewritten
			}
			if !kinds[info.Kind] {
				t.Errorf("%s: no scenario has the fault %s", cp.Name, info.Kind)
			}
		}
	}
}

// A random scenario is always valid, written and read again the same, and the same
// for a seed.
func TestRandom(t *testing.T) {
	var kinds []harness.FaultKind
	for _, info := range harness.Faults() {
		kinds = append(kinds, info.Kind)
	}
	for seed := range uint64(500) {
		o := scenario.RandomOptions{ControlPlane: kcp.Name, Odd: true, Pool: seed%2 == 0, Kinds: kinds}
		f := scenario.Random(seed, o)
		s, err := scenario.Build(f, scenario.OptionsFor(kcp.New()))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		text, err := scenario.Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		read, err := scenario.Parse("random.yaml", text, scenario.OptionsFor(kcp.New()))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if diff := cmp.Diff(s, read); diff != "" {
			t.Fatalf("seed %d: read again it differs:\n%s", seed, diff)
		}
		if diff := cmp.Diff(f, scenario.Random(seed, o)); diff != "" {
			t.Fatalf("seed %d gives another scenario:\n%s", seed, diff)
		}
	}
}

// Shrinking finds the steps that a failure needs, and nothing else.
func TestShrink(t *testing.T) {
	kinds := []harness.FaultKind{harness.FaultApplyFails, harness.FaultQuota, harness.FaultInstanceGone}
	valid := func(f scenario.File) bool {
		_, err := scenario.Build(f, scenario.OptionsFor(kcp.New()))
		return err == nil
	}
	has := func(f scenario.File) bool {
		return slices.ContainsFunc(f.Steps, func(s scenario.Step) bool { return s.Fault != nil })
	}
	shrunk := 0
	for seed := range uint64(40) {
		f := scenario.Random(seed, scenario.RandomOptions{ControlPlane: kcp.Name, Odd: true, Pool: true, Kinds: kinds, Steps: 10})
		if !has(f) {
			continue
		}
		shrunk++
		small := scenario.Shrink(f, valid, has)
		if len(small.Steps) != 2 || !has(small) || !valid(small) {
			text, _ := scenario.Encode(small)
			t.Errorf("seed %d: %d steps are left:\n%s", seed, len(small.Steps), text)
		}
	}
	if shrunk == 0 {
		t.Error("no scenario had a fault")
	}
}

// Whatever is read: no panic, and what is accepted is within the limits.
func FuzzParse(f *testing.F) {
	for _, s := range kcp.New().Scenarios {
		f.Add([]byte(s.Text))
	}
	for _, pattern := range []string{"testdata/good/*", "testdata/bad/*"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			if text, err := os.ReadFile(name); err == nil {
				f.Add(text)
			}
		}
	}
	o := scenario.OptionsFor(kcp.New())
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := scenario.Parse("fuzz.yaml", text, o)
		if err != nil {
			if !scenario.Is(err) {
				t.Errorf("the error has another type: %v", err)
			}
			return
		}
		if len(s.Steps) == 0 || len(s.Steps) > scenario.MaxSteps {
			t.Errorf("%d steps are accepted", len(s.Steps))
		}
	})
}
