package scaffold

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/rules"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// examples is where the generated set is checked in, for people to look at.
const examples = "../examples/scaffold"

// generate renders the modules of o.
func generate(t testing.TB, o Options) *Tree {
	t.Helper()
	tree, err := Generate(o)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// written writes what o asks for into a new directory.
func written(t testing.TB, o Options) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new")
	if err := generate(t, o).Write(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// files returns the content of all files below dir by their slash-separated path.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		all[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestExamples asserts that the example that is checked in is what is generated.
func TestExamples(t *testing.T) {
	dir := written(t, Options{Set: true})
	if golden.Updating() {
		if err := os.RemoveAll(examples); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(examples, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(files(t, dir), files(t, examples)); diff != "" {
		t.Errorf("%s differs from what is generated (-generated +checked in); run go generate ./scaffold/...\n%s", examples, diff)
	}
}

// TestProvider keeps what a provider changes as golden files.
func TestProvider(t *testing.T) {
	plain := generate(t, Options{Role: contract.RoleMachine})
	tree := generate(t, Options{Role: contract.RoleMachine, Provider: &Provider{"hashicorp/aws", "6.25.0"}, Runtime: Terraform})
	same := map[string]string{}
	for _, f := range plain.Files {
		same[f.Path] = string(f.Content)
	}
	for _, f := range tree.Files {
		if same[f.Path] != string(f.Content) {
			golden.Assert(t, filepath.Join("testdata/provider", strings.ReplaceAll(f.Path, ".github", "github")), f.Content)
		}
	}
}

// TestRuntimes asserts that what is generated works at once on both runtimes.
func TestRuntimes(t *testing.T) {
	t.Parallel()
	dir := written(t, Options{Set: true})
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		for _, role := range contract.Roles() {
			t.Run(string(role), func(t *testing.T) { runtimetest.ModuleTests(t, b, filepath.Join(dir, string(role))) })
		}
	})
}

// providers are all shapes of a provider, none included.
var providers = []*Provider{
	nil,
	{"hashicorp/aws", "6.25.0"},
	{"terraform-provider-openstack/openstack", "3.4.0"},
	{"registry.example.com:8443/acme/cloud-one", "0.1.0-rc.1"},
}

// TestAnyFlags asserts for any combination of flags that every module loads in
// both runtimes' views and lints clean, and that the same flags give the same
// files.
func TestAnyFlags(t *testing.T) {
	t.Parallel()
	// Flags that only change README and workflow give a module that was seen before.
	seen := map[string]bool{}
	parent, runs := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Set:      rapid.Bool().Draw(t, "set"),
			Provider: rapid.SampledFrom(providers).Draw(t, "provider"),
			Runtime:  rapid.SampledFrom([]Runtime{"", OpenTofu, Terraform}).Draw(t, "runtime"),
			Contract: rapid.SampledFrom(append(versions.Names(), "")).Draw(t, "contract"),
		}
		if !o.Set {
			o.Role = rapid.SampledFrom(contract.Roles()).Draw(t, "role")
		}
		tree, err := Generate(o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Generate(o)
		if err != nil {
			t.Fatal(err)
		}
		same := func(a, b File) bool { return a.Path == b.Path && bytes.Equal(a.Content, b.Content) }
		if !slices.EqualFunc(tree.Files, again.Files, same) {
			t.Fatal("the same flags give other files")
		}
		runs++
		dir := filepath.Join(parent, strconv.Itoa(runs))
		if err := tree.Write(context.Background(), dir); err != nil {
			t.Fatal(err)
		}
		for _, role := range o.Roles() {
			at := dir
			if o.Set {
				at = filepath.Join(at, string(role))
			}
			if key := sources(t, at); !seen[key] {
				seen[key] = true
				loadsAndLints(t, at, role, o.Provider)
			}
		}
	})
}

// sources returns the text of the module in dir.
func sources(t *rapid.T, dir string) string {
	names, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s holds no module: %v", dir, err)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

func loadsAndLints(t *rapid.T, dir string, role contract.Role, provider *Provider) {
	tree, err := module.Load(dir, module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if tree.Terraform == nil || tree.OpenTofu == nil || len(tree.Terraform.Unsupported)+len(tree.OpenTofu.Unsupported) > 0 {
		t.Fatalf("%s does not load in both runtimes", dir)
	}
	if provider != nil {
		req := tree.Primary.Required(provider.Name())
		if req == nil || req.Source != provider.Source {
			t.Fatalf("the provider is required as %+v", req)
		}
	}
	report, err := lint.Run(lint.Options{Dir: dir, Role: role, Contract: versions.Default(), Rules: rules.All()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		if f.Severity != lint.SeverityInfo || strings.HasPrefix(f.ID, "cp/") {
			t.Fatalf("%s: %+v", role, f)
		}
	}
}

// TestTextIsClean asserts what every generated text owes its reader.
func TestTextIsClean(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Set: true}, {Role: contract.RoleCluster}, {Role: contract.RoleMachinePool, Provider: providers[1]}} {
		tree := generate(t, o)
		for _, f := range tree.Files {
			if !bytes.HasSuffix(f.Content, []byte("\n")) || bytes.HasSuffix(f.Content, []byte("\n\n")) {
				t.Errorf("%s does not end in one line feed", f.Path)
			}
			for i, line := range strings.Split(string(f.Content), "\n") {
				if strings.TrimRight(line, " \t") != line {
					t.Errorf("%s:%d ends in blanks", f.Path, i+1)
				}
				if strings.Contains(line, "<no value>") || strings.Contains(line, "{{") && !strings.Contains(line, "${{") {
					t.Errorf("%s:%d is not rendered: %s", f.Path, i+1, line)
				}
			}
		}
		if !slices.IsSortedFunc(tree.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) }) {
			t.Error("files are not sorted")
		}
	}
}

// TestEveryRoleHasContent asserts that a role of the contract cannot be forgotten
// here: tables of other versions may add outputs, which then need a template.
func TestEveryRoleHasContent(t *testing.T) {
	t.Parallel()
	for _, def := range versions.All() {
		for _, role := range contract.Roles() {
			d, err := newModuleData(Options{Runtime: OpenTofu}, def, role)
			if err != nil {
				t.Error(err)
				continue
			}
			if d.Title == "" || d.Purpose == "" || len(d.Duties) == 0 || len(d.Variables) == 0 {
				t.Errorf("role %s lacks content", role)
			}
		}
	}
	spec := contract.Output{Name: "invented"}
	_, err := outputValue(&moduleData{Role: contract.RoleCluster, Contract: "v9"}, spec)
	if err == nil || !strings.Contains(err.Error(), "invented") {
		t.Errorf("an output without template gives %v", err)
	}
}

func TestParseProvider(t *testing.T) {
	t.Parallel()
	for _, p := range providers[1:] {
		got, err := ParseProvider(p.String())
		if err != nil || *got != *p {
			t.Errorf("%s gives %v, %v", p, got, err)
		}
	}
	tests := []struct{ in, want string }{
		{"", "a version is missing"},
		{"hashicorp/aws", "a version is missing"},
		{"aws@6.25.0", "the namespace is missing"},
		{"a/b/c/d@1.0.0", "has 4 parts"},
		{"/aws@1.0.0", "no namespace or type"},
		{"Hashicorp/aws@1.0.0", "no namespace or type"},
		{"hashicorp/a--b@1.0.0", "no namespace or type"},
		{"hashicorp/a_b@1.0.0", "no namespace or type"},
		{"hashicorp/3scale@1.0.0", "starts with a digit"},
		{"localhost/acme/cloud@1.0.0", "no host name"},
		{"hashicorp/terraform-provider-aws@1.0.0", "hashicorp/aws"},
		{"terraform.io/builtin/terraform@1.0.0", "built-in"},
		{"hashicorp/terraform@1.0.0", "built into the runtime"},
		{"registry.opentofu.org/hashicorp/terraform@1.0.0", "built into the runtime"},
		{"acme/terraform@1.0.0", "built into the runtime"},
		{"hashicorp/aws@", "no exact version"},
		{"hashicorp/aws@6", "no exact version"},
		{"hashicorp/aws@~> 6.25", "no exact version"},
		{"hashicorp/aws@v6.25.0", "no exact version"},
		{"hashicorp/aws@6.25.0@7", "no exact version"},
		{"hashicorp/aws@06.25.0", "no exact version"},
		{"hashicorp/aws@6.25.0\"", "no exact version"},
	}
	for _, test := range tests {
		if _, err := ParseProvider(test.in); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q gives %v, want %q", test.in, err, test.want)
		}
	}
}

func FuzzParseProvider(f *testing.F) {
	for _, p := range providers[1:] {
		f.Add(p.String())
	}
	f.Add("hashicorp/aws@6.25.0\n}")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseProvider(s)
		if err != nil {
			return
		}
		if p.String() != s {
			t.Fatalf("%q is taken for %q", s, p)
		}
		// What is accepted must be safe inside a module.
		tree := generate(t, Options{Role: contract.RoleMachine, Provider: p})
		dir := t.TempDir()
		if err := tree.Write(context.Background(), filepath.Join(dir, "new")); err != nil {
			t.Fatal(err)
		}
		if _, err := module.Load(filepath.Join(dir, "new"), module.Options{}); err != nil {
			t.Fatalf("%q gives a module that does not load: %v", s, err)
		}
	})
}

func TestOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"no role", Options{}, "parsing role"},
		{"unknown role", Options{Role: "network"}, "cluster, machine, machinepool"},
		{"role and set", Options{Role: contract.RoleMachine, Set: true}, "cannot be given with it"},
		{"unknown contract", Options{Set: true, Contract: "v9"}, "v1alpha1"},
		{"unknown runtime", Options{Set: true, Runtime: "pulumi"}, "tofu or terraform"},
		{"bad provider", Options{Set: true, Provider: &Provider{Source: "aws"}}, "namespace"},
	}
	for _, test := range tests {
		if _, err := Generate(test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s gives %v, want %q", test.name, err, test.want)
		}
	}
}
