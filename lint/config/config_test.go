package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint/config"
)

func allowable(id string) error {
	if !strings.HasPrefix(id, "input/") {
		return fmt.Errorf("there is no check %q", id)
	}
	return nil
}

func TestParse(t *testing.T) {
	text := `
# a comment
contract: v1alpha1
strict: true
discover: false
exclude: [legacy, ./vendored/]
allow-warnings:
  - {id: input/type, reason: old modules}
modules:
  - path: modules/node
    role: machine
    strict: false
    allow-warnings:
      - id: input/default
        reason: needed by the tests
  - {path: ., role: cluster}
`
	got, err := config.Parse("x.yaml", []byte(text), allowable)
	if err != nil {
		t.Fatal(err)
	}
	no := false
	want := config.Config{
		Contract: "v1alpha1", Strict: true, Exclude: []string{"legacy", "vendored"},
		Allow: []config.Allowance{{ID: "input/type", Reason: "old modules"}},
		Modules: []config.Module{
			{Path: "modules/node", Role: contract.RoleMachine, Strict: &no, Allow: []config.Allowance{{ID: "input/default", Reason: "needed by the tests"}}},
			{Path: ".", Role: contract.RoleCluster},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseEmpty(t *testing.T) {
	for _, text := range []string{"", "\n# only a comment\n", "---\n"} {
		got, err := config.Parse("x.yaml", []byte(text), allowable)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(config.Default(), got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestParseErrorsNameTheLine(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"strict: true\nstrickt: true\n", `x.yaml:2: unknown key "strickt": there are contract, strict,`},
		{"strict: true\nstrict: true\n", `x.yaml:2: the key "strict" is given twice`},
		{"strict: yes please\n", "x.yaml:1: expected true or false"},
		{"contract: [a]\n", "x.yaml:1: expected a text"},
		{"contract: 1\n", "x.yaml:1: expected a text"},
		{"- a\n", "x.yaml:1: expected keys"},
		{"exclude: a\n", "x.yaml:1: expected a list"},
		{"exclude:\n  - a\n  - /etc\n", `x.yaml:3: the path "/etc" leads out`},
		{"exclude:\n  - ../x\n", `x.yaml:2: the path "../x" leads out`},
		{"allow-warnings:\n  - id: input/type\n", "x.yaml:2: the allowed warning input/type has no reason"},
		{"allow-warnings:\n  - reason: x\n", "x.yaml:2: the allowed warning has no id"},
		{"allow-warnings:\n  - id: other/x\n    reason: x\n", `x.yaml:2: there is no check "other/x"`},
		{"allow-warnings:\n  - id: input/type\n    reason: '  '\n", "x.yaml:3: expected a text"},
		{"modules:\n  - role: machine\n", "x.yaml:2: the module has no path"},
		{"modules:\n  - path: a\n", "x.yaml:2: the module a has no role"},
		{"modules:\n  - path: a\n    role: node\n", `x.yaml:2: parsing role "node"`},
		{"modules:\n  - {path: a, role: machine}\n  - {path: ./a, role: machine}\n", "x.yaml:3: the module a is listed twice"},
		{"modules:\n  - path: ../a\n    role: machine\n", "x.yaml:2: the path"},
		{"strict: true\n---\nstrict: true\n", "more than one document"},
		{"strict: [\n", "x.yaml: "},
		{"a: &a [b]\nexclude: *a\n", `unknown key "a"`},
		{"exclude: &a [x]\nmodules: *a\n", "x.yaml:2: expected a list"},
		{"? [a]\n: b\n", "x.yaml:1: unknown key"},
	} {
		_, err := config.Parse("x.yaml", []byte(tc.text), allowable)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error is %v, want %q", tc.text, err, tc.want)
		}
	}
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := config.Load(dir, allowable); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("error is %v", err)
	}
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, []byte(strings.Repeat("#", 1<<20+1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(big, allowable); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("error is %v", err)
	}
}

// tree makes files, and links for texts that start with "-> ".
func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	for _, name := range files {
		name, target, isLink := strings.Cut(name, " -> ")
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if isLink {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func paths(targets []config.Target) []string {
	var out []string
	for _, t := range targets {
		out = append(out, fmt.Sprintf("%s %s", t.Path, t.Role))
	}
	return out
}

func TestTargets(t *testing.T) {
	dir := tree(t,
		"aws/cluster/main.tf", "aws/machine/main.tf.json", "aws/machinepool/main.tofu",
		"aws/machine/tests/machine/main.tf", // inside a module that does not call it
		"docs/machine/README.md",            // no module
		"machine/deeper/cluster/main.tf",    // the upper one holds no module
		".git/machine/main.tf", "skip/me/machine/main.tf", "skip/machine/main.tf",
		"edge/node/main.tf", "edge/other/machine/.hidden.tf", "edge/links/cluster -> ../../aws/cluster",
	)
	cfg := config.Config{
		Discover: true, Strict: true, Exclude: []string{"skip/me"},
		Allow:   []config.Allowance{{ID: "a", Reason: "b"}},
		Modules: []config.Module{{Path: "edge/node", Role: contract.RoleMachine, Allow: []config.Allowance{{ID: "c", Reason: "d"}}}},
	}
	got, err := cfg.Targets(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"aws/cluster cluster", "aws/machine machine", "aws/machine/tests/machine machine", "aws/machinepool machinepool",
		"edge/node machine", "machine/deeper/cluster cluster", "skip/machine machine",
	}
	if diff := cmp.Diff(want, paths(got)); diff != "" {
		t.Error(diff)
	}
	for _, target := range got {
		if !target.Strict || (len(target.Allow) == 2) != (target.Path == "edge/node") {
			t.Errorf("settings of %+v", target)
		}
	}
}

func TestACalledModuleIsNoTarget(t *testing.T) {
	dir := tree(t, "cluster/main.tf", "cluster/machine/main.tf", "cluster/parts/main.tf", "cluster/parts/machinepool/main.tf",
		"node/main.tf", "node/cluster/main.tf", "node/machine/main.tf")
	for file, text := range map[string]string{
		"cluster/main.tf":       "module \"parts\" {\n  source = \"./parts\"\n}\n",
		"cluster/parts/main.tf": "module \"pool\" {\n  source = \"./machinepool\"\n}\n",
		"node/main.tf":          "module \"a\" {\n  source = \"./cluster\"\n}\n\nmodule \"b\" {\n  source = \"./machine\"\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(file)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config.Default()
	cfg.Modules = []config.Module{{Path: "node", Role: contract.RoleMachine}, {Path: "node/machine", Role: contract.RoleMachine}}
	got, err := cfg.Targets(dir)
	if err != nil {
		t.Fatal(err)
	}
	// What is listed stays, and what is called is left out, also two levels down.
	want := []string{"cluster cluster", "cluster/machine machine", "node machine", "node/machine machine"}
	if diff := cmp.Diff(want, paths(got)); diff != "" {
		t.Error(diff)
	}
}

func TestTheTreeItselfCanBeAModule(t *testing.T) {
	dir := tree(t, "machine/main.tf")
	got, err := config.Default().Targets(filepath.Join(dir, "machine"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{". machine"}, paths(got)); diff != "" {
		t.Error(diff)
	}
}

func TestListedModulesStayInTheTree(t *testing.T) {
	dir := tree(t, "a/main.tf", "out -> ../..", "loop -> loop")
	for path, want := range map[string]string{"out": "leads out of the tree", "b": "does not exist", "loop": "looking for modules"} {
		cfg := config.Config{Modules: []config.Module{{Path: path, Role: contract.RoleMachine}}}
		if _, err := cfg.Targets(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", path, err, want)
		}
	}
	if _, err := config.Default().Targets(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a tree that does not exist was walked")
	}
	if _, err := config.Default().Targets(filepath.Join(dir, "a", "main.tf")); err == nil {
		t.Error("a file was walked")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"strict: true", "modules: [{path: a, role: machine}]", "a: &a [*a]", "\xff", "exclude: [../..]", "? a\n: b"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := config.Parse("x.yaml", text, allowable)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.yaml:") {
				t.Errorf("error without a place: %v", err)
			}
			return
		}
		for _, m := range c.Modules {
			if !filepath.IsLocal(m.Path) {
				t.Errorf("path leads out: %q", m.Path)
			}
		}
	})
}
