package module_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// notAsked lists cases that no runtime can judge.
var notAsked = map[string]string{
	"valid/remote":             "its sources need a network",
	"valid/required-providers": "its providers need a network",
	"features/ephemeral-block": "the built-in provider has no ephemeral resource",
	"escapes/cycle":            "both runtimes follow the cycle until they run out of path",
	"escapes/outside":          "what lies outside is not there",
	"invalid/nothing":          "both runtimes take a directory without a module file for an empty module (lint.md L5 is stricter)",
	"invalid/only-tests":       "likewise",
}

// known lists where a runtime reports something else than this package.
var known = map[string]string{
	"escapes/unresolved/opentofu":              "it reports the call and not its source argument",
	"escapes/unresolved/terraform":             "it reports the call and not its source argument",
	"features/import-identity/opentofu":        "the built-in provider has no identities, which only shows at validation",
	"features/import-identity/terraform":       "before 1.12 it also misses the id argument",
	"invalid/required-version/opentofu":        "it does not even look at required_version in a .tf file",
	"invalid/override-default/opentofu":        "it reports the block and not the argument",
	"invalid/override-default/terraform":       "it reports the block and not the argument",
	"invalid/count-and-for-each/opentofu":      "it reports the first of both arguments",
	"invalid/experiments-in-language/opentofu": "it reports the language block and not the block inside",
	"invalid/moved/opentofu":                   "it reports what is missing a second time",
	"invalid/provider-parts/opentofu":          "it gives no place for one of the errors",
	"invalid/provider-parts/terraform":         "it gives no place for one of the errors",
	"invalid/import-both/opentofu":             "it reports the first of both arguments",
	"invalid/empty-deprecation/opentofu":       "it reports the block and not the argument",
	"invalid/data-self-reference/opentofu":     "it reports the lifecycle block and not the argument",
	"invalid/data-self-reference/terraform":    "it leaves an unknown block in an ephemeral block to the provider",
	"invalid/check-two-data/opentofu":          "it takes what is in error for missing, which makes more errors",
	"invalid/check-two-data/terraform":         "likewise",
	"invalid/alias/opentofu":                   "it gives no place for one of the errors",
	"invalid/alias/terraform":                  "it gives no place for one of the errors",
	"invalid/no-common-runtime/terraform":      "before 1.15 it does not know the other construct either",
}

func TestRuntimesAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the real runtimes some 200 times")
	}
	used := map[string]bool{}
	for _, name := range cases(t, "*") {
		for _, b := range runtimetest.Binaries(t) {
			key := name + "/" + string(b.Kind)
			used[name], used[key] = true, true
			t.Run(key, func(t *testing.T) {
				if why := notAsked[name]; why != "" {
					t.Skip(why)
				}
				t.Parallel()
				want, note := expected(name, b)
				got := ask(t, b, name)
				diff := cmp.Diff(want, got.places)
				switch why := known[key]; {
				case diff == "" && why != "" && b.Kind == runtime.OpenTofu: // whose version is ours to choose
					t.Errorf("%s does agree; remove it from the known disagreements (%s)", b, why)
				case (len(want) == 0) != (len(got.places) == 0) && why == "":
					t.Errorf("%s: one accepts and the other does not (-module +runtime):\n%s\n%s\n%s", b, diff, note, got.text)
				case diff != "" && why == "":
					t.Errorf("%s: errors at other places (-module +runtime):\n%s\n%s\n%s", b, diff, note, got.text)
				}
			})
		}
	}
	for _, list := range []map[string]string{notAsked, known} {
		for key := range list {
			if !used[key] && !strings.HasSuffix(key, "/terraform") {
				t.Errorf("%s is no case", key)
			}
		}
	}
}

// expected returns where the runtime should find errors: where Load does, and
// where the module uses something that this version does not know.
func expected(name string, b *runtime.Binary) (at []string, note string) {
	r := viewOf(b)
	tree, err := module.Load(caseDir(name), module.Options{})
	if le, ok := errors.AsType[*module.LoadError](err); ok {
		var own hcl.Diagnostics
		for _, p := range le.Problems {
			if r == module.Terraform && p.Subject != nil && module.TofuFile(p.Subject.Filename) {
				continue // does not read the file
			}
			if other := (1 - r).String(); strings.HasPrefix(p.Summary, "Unsupported by "+other) || strings.Contains(p.Detail, "it is "+other) {
				continue
			}
			own = append(own, p)
		}
		return places(own), err.Error()
	}
	m := tree.View(r)
	if m == nil {
		return []string{}, ""
	}
	var diags hcl.Diagnostics
	for _, sub := range m.Tree() {
		for _, f := range sub.Features {
			if since := f.Since(r); since == "" || !b.AtLeast(since) {
				diags = append(diags, &hcl.Diagnostic{Subject: &f.Range})
			}
		}
	}
	for _, e := range tree.Escapes {
		diags = append(diags, &hcl.Diagnostic{Subject: &e.Range})
	}
	return places(diags), fmt.Sprint("unsupported: ", m.Unsupported)
}

func places(diags hcl.Diagnostics) []string {
	out := []string{}
	for _, p := range diags {
		out = append(out, fmt.Sprintf("%s:%d", p.Subject.Filename, p.Subject.Start.Line))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// viewOf tells which view of a tree a binary corresponds to.
func viewOf(b *runtime.Binary) module.Runtime {
	if b.Kind == runtime.OpenTofu {
		return module.OpenTofu
	}
	return module.Terraform
}

// verdict is what a runtime says about a directory.
type verdict struct {
	places []string // file:line of each error, sorted
	text   string
}

var snippet = regexp.MustCompile(`(?m)^ +on (\S+) line (\d+)`)

// ask lets a runtime install local modules and validate a copy of a case.
func ask(t *testing.T, b *runtime.Binary, name string) verdict {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(caseDir(name))); err != nil {
		t.Fatal(err)
	}
	v := verdict{places: []string{}}
	if hasCalls(t, dir) {
		if _, text := run(t, b, dir, "get", "-no-color"); text != "" {
			v.text = text
			for _, m := range snippet.FindAllStringSubmatch(text, -1) {
				v.places = append(v.places, m[1]+":"+m[2])
			}
		}
	}
	out, _ := run(t, b, dir, "validate", "-json", "-no-color")
	var doc struct {
		Diagnostics []struct {
			Severity, Summary, Detail string
			Range                     struct {
				Filename string
				Start    struct{ Line int }
			}
		}
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%s validate -json: %v\n%s", b, err, out)
	}
	for _, d := range doc.Diagnostics {
		if d.Severity != "error" || d.Summary == "Module not installed" && len(v.places) > 0 {
			continue
		}
		place := fmt.Sprintf("%s:%d", filepath.ToSlash(d.Range.Filename), d.Range.Start.Line)
		v.places = append(v.places, place)
		v.text += fmt.Sprintf("%s: %s: %s\n", place, d.Summary, d.Detail)
	}
	slices.Sort(v.places)
	v.places = slices.Compact(v.places)
	return v
}

func hasCalls(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		if bytes.Contains(data, []byte(`./`)) {
			return true
		}
	}
	return false
}

// run runs a runtime in a directory, free of the machine's configuration. It
// returns standard output and, if it failed, standard error.
func run(t *testing.T, b *runtime.Binary, dir string, args ...string) (out []byte, failure string) {
	t.Helper()
	rc := filepath.Join(t.TempDir(), "cli.tfrc")
	if err := os.WriteFile(rc, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), b.Path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_LOG=", "TF_CLI_ARGS=")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatalf("running %s: %v", b, err)
	}
	if err != nil {
		failure = err.Error() + "\n" + stderr.String()
	}
	return stdout.Bytes(), failure
}

// interfaceOf is what `tofu show -json -module` tells of variables and outputs.
type interfaceOf struct {
	Variables map[string]variableOf `json:"variables"`
	Outputs   map[string]outputOf   `json:"outputs"`
}

type variableOf struct {
	Type        json.RawMessage `json:"type"`
	Default     json.RawMessage `json:"default"`
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Sensitive   bool            `json:"sensitive"`
	Ephemeral   bool            `json:"ephemeral"`
	Deprecated  string          `json:"deprecated"`
}

type outputOf struct {
	Description string   `json:"description"`
	Sensitive   bool     `json:"sensitive"`
	Ephemeral   bool     `json:"ephemeral"`
	Deprecated  string   `json:"deprecated"`
	DependsOn   []string `json:"depends_on"`
}

func TestInterfaceAsOpenTofuShowsIt(t *testing.T) {
	if testing.Short() {
		t.Skip("runs OpenTofu for every valid case")
	}
	b := runtimetest.OpenTofu(t)
	for _, name := range slices.Concat(cases(t, "valid"), cases(t, "features")) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, err := module.Load(caseDir(name), module.Options{})
			if err != nil {
				t.Fatal(err)
			}
			m := tree.OpenTofu
			if m == nil || len(m.Unsupported) > 0 {
				t.Skip("not for OpenTofu")
			}
			out, failure := run(t, b, t.TempDir(), "show", "-json", "-module="+absolute(t, caseDir(name)))
			if failure != "" {
				t.Fatalf("%s", failure)
			}
			var doc struct {
				RootModule interfaceOf `json:"root_module"`
			}
			if err := json.Unmarshal(out, &doc); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(normal(t, doc.RootModule), normal(t, interfaceFrom(t, m))); diff != "" {
				t.Errorf("(-OpenTofu +module):\n%s", diff)
			}
		})
	}
}

func absolute(t *testing.T, dir string) string {
	t.Helper()
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// normal removes differences of notation.
func normal(t *testing.T, i interfaceOf) any {
	t.Helper()
	data, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func interfaceFrom(t *testing.T, m *module.Module) interfaceOf {
	t.Helper()
	out := interfaceOf{}
	for _, v := range m.Variables {
		if out.Variables == nil {
			out.Variables = map[string]variableOf{}
		}
		vo := variableOf{
			Description: v.Description,
			Required:    !v.HasDefault,
			Sensitive:   v.Sensitive,
			Ephemeral:   v.Ephemeral,
			Deprecated:  v.Deprecated,
		}
		if v.HasType && v.Type != cty.DynamicPseudoType {
			typ, err := ctyjson.MarshalType(v.Type)
			if err != nil {
				t.Fatal(err)
			}
			vo.Type = typ
		}
		if v.HasDefault {
			val, err := ctyjson.Marshal(v.Default, v.Default.Type())
			if err != nil {
				t.Fatal(err)
			}
			vo.Default = val
		}
		out.Variables[v.Name] = vo
	}
	for _, o := range m.Outputs {
		if out.Outputs == nil {
			out.Outputs = map[string]outputOf{}
		}
		oo := outputOf{Description: o.Description, Sensitive: o.Sensitive, Ephemeral: o.Ephemeral, Deprecated: o.Deprecated}
		for _, tr := range o.DependsOn {
			oo.DependsOn = append(oo.DependsOn, traversal(tr))
		}
		out.Outputs[o.Name] = oo
	}
	return out
}
