package runtime_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// initRuns calls Init and reports whether a process ran.
func initRuns(t *testing.T, w *runtime.Workdir, o runtime.InitOptions) bool {
	t.Helper()
	res, err := w.Init(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return !res.Skipped
}

// attach is a provider served at a socket; nothing here requires it, so nobody dials.
func attach(socket string) string {
	return `{"example/none":{"Protocol":"grpc","ProtocolVersion":6,"Pid":1,"Test":true,"Addr":{"Network":"unix","String":"` + socket + `"}}}`
}

func TestInitIsSkipped(t *testing.T) {
	b := runtimetest.OpenTofu(t)
	w := set(t, b, moduleHCL, runtime.WorkdirOptions{})
	module := filepath.Join(filepath.Dir(w.Dir()), "module")
	o := runtime.InitOptions{}
	if !initRuns(t, w, o) {
		t.Fatal("the first init was skipped")
	}
	reopen := func(ro runtime.WorkdirOptions) *runtime.Workdir { return runtimetest.Workdir(t, b, w.Dir(), ro) }
	write := func(dir, name, content string) {
		runtimetest.Write(t, dir, map[string]string{name: content})
	}
	config := filepath.Join(t.TempDir(), "tofurc")
	write(filepath.Dir(config), "tofurc", "")

	// In order; each step starts from an initialised directory.
	for _, step := range []struct {
		name   string
		change func()
		w      runtime.WorkdirOptions
		o      runtime.InitOptions
		runs   bool
	}{
		{name: "nothing changed"},
		{name: "other values", change: func() { write(w.Dir(), "terraform.tfvars.json", `{"name": "two"}`) }},
		{name: "asked for", o: runtime.InitOptions{Always: true}, runs: true},
		{name: "upgrade", o: runtime.InitOptions{Upgrade: true}, runs: true},
		{name: "root changed", change: func() { write(w.Dir(), "more.tf", "locals { a = 1 }\n") }, runs: true},
		{name: "module changed", change: func() { write(module, "main.tf", moduleHCL+"\n") }, runs: true},
		{name: "module got a file", change: func() { write(module, "more.tf", "locals { a = 1 }\n") }, runs: true},
		{name: "module got a document", change: func() { write(module, "README.md", "text\n") }},
		{name: "lock file", change: func() { write(w.Dir(), ".terraform.lock.hcl", "# nothing\n") }, runs: true},
		{name: "CLI configuration", w: runtime.WorkdirOptions{CLIConfig: config}, runs: true},
		{name: "attached provider", w: runtime.WorkdirOptions{Env: map[string]string{"TF_REATTACH_PROVIDERS": attach("/one")}}, runs: true},
		{name: "the same attached anew", w: runtime.WorkdirOptions{Env: map[string]string{"TF_REATTACH_PROVIDERS": attach("/two")}}},
		{name: "detached", runs: true},
		{name: "initialised directory deleted", change: func() {
			if err := os.RemoveAll(filepath.Join(w.Dir(), ".terraform")); err != nil {
				t.Fatal(err)
			}
		}, runs: true},
		{name: "a broken manifest", change: func() { write(w.Dir(), ".terraform/modules/modules.json", `{"Modules":`) },
			o: runtime.InitOptions{}, runs: true},
	} {
		if step.change != nil {
			step.change()
		}
		if step.name == "a broken manifest" {
			// The runtime cannot read it either; what counts is that we do not call it good.
			if res, err := reopen(step.w).Init(t.Context(), step.o); err == nil && res.Skipped {
				t.Errorf("%s: skipped", step.name)
			}
			continue
		}
		if got := initRuns(t, reopen(step.w), step.o); got != step.runs {
			t.Errorf("%s: init ran %t, want %t", step.name, got, step.runs)
		}
	}
}

func TestFailedInitIsNotRemembered(t *testing.T) {
	w := set(t, runtimetest.OpenTofu(t), moduleHCL, runtime.WorkdirOptions{})
	mustInit(t, w)
	module := filepath.Join(filepath.Dir(w.Dir()), "module")
	runtimetest.Write(t, module, map[string]string{"more.tf": "module \"x\" { source = \"./none\" }\n"})
	for range 2 {
		_, err := w.Init(t.Context(), runtime.InitOptions{})
		mustFail(t, err, "init", "none")
	}
	if err := os.Remove(filepath.Join(module, "more.tf")); err != nil {
		t.Fatal(err)
	}
	if !initRuns(t, w, runtime.InitOptions{}) {
		t.Error("init was skipped after one that failed")
	}
}

func TestFlatRootNeedsNoInit(t *testing.T) {
	const resource = "resource \"terraform_data\" \"x\" {\n  input = 1\n}\n"
	for name, tc := range map[string]struct {
		files map[string]string
		runs  bool
	}{
		"flat":        {files: map[string]string{"main.tf": "terraform {\n  required_version = \">= 1.5\"\n}\nvariable \"v\" {\n  default = 1\n}\nlocals {\n  l = var.v\n}\n" + resource + "output \"o\" {\n  value = local.l\n}\n"}},
		"flat JSON":   {files: map[string]string{"main.tf.json": `{"resource":{"terraform_data":{"x":{"input":1}}},"output":{"o":{"value":1}}}`}},
		"backend":     {runs: true, files: map[string]string{"main.tf": "terraform {\n  backend \"local\" {}\n}\n" + resource}},
		"module":      {runs: true, files: map[string]string{"main.tf": "module \"m\" {\n  source = \"./m\"\n}\n", "m/main.tf": resource}},
		"provider":    {runs: true, files: map[string]string{"main.tf": "provider \"terraform\" {}\n" + resource}},
		"data source": {runs: true, files: map[string]string{"main.tf": "data \"terraform_remote_state\" \"x\" {\n  backend = \"local\"\n  config = { path = \"x\" }\n}\n"}},
		"left over":   {runs: true, files: map[string]string{"main.tf": resource, ".terraform/modules/modules.json": `{"Modules":[]}`}},
		"nothing":     {runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
				t.Parallel()
				dir := t.TempDir()
				runtimetest.Write(t, dir, tc.files)
				w := runtimetest.Workdir(t, b, dir, runtime.WorkdirOptions{})
				if got := initRuns(t, w, runtime.InitOptions{}); got != tc.runs {
					t.Errorf("init ran %t, want %t", got, tc.runs)
				}
				if tc.runs {
					return
				}
				// Skipping was right if the runtime agrees.
				if _, err := w.Apply(t.Context(), runtime.ApplyOptions{}); err != nil {
					t.Error(err)
				}
				if v, err := w.Outputs(t.Context()); err != nil || len(v) != 1 {
					t.Errorf("outputs %v, %v", v, err)
				}
			})
		})
	}
}
