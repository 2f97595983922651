package runtime_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// A root as the contract's renderer writes it, with the module in ../module.
const rootJSON = `{
  "terraform": {"backend": {"local": {"path": "terraform.tfstate"}}},
  "variable": {"name": {}, "token": {"default": null, "sensitive": true}},
  "module": {"role": {"source": "../module", "name": "${var.name}", "token": "${var.token}"}},
  "output": {
    "id": {"value": "${module.role.id}", "sensitive": true},
    "nothing": {"value": "${module.role.nothing}", "sensitive": true}
  }
}
`

const moduleHCL = `variable "name" {
  type = string
}

variable "token" {
  type      = string
  sensitive = true
  default   = null
}

resource "terraform_data" "first" {
  input            = var.name
  triggers_replace = length(var.name)
}

resource "terraform_data" "each" {
  for_each = toset(["a", "b"])
  input    = "${terraform_data.first.id}-${each.key}"
}

output "id" {
  value = terraform_data.first.id
}

output "nothing" {
  value = null
}
`

// set writes a root and a module and opens the root.
func set(t *testing.T, b *runtime.Binary, module string, o runtime.WorkdirOptions) *runtime.Workdir {
	t.Helper()
	dir := t.TempDir()
	runtimetest.Write(t, dir, map[string]string{
		"root/main.tf.json":          rootJSON,
		"root/terraform.tfvars.json": `{"name": "one", "token": "s3cr3t-value"}`,
		"module/main.tf":             module,
	})
	return runtimetest.Workdir(t, b, filepath.Join(dir, "root"), o)
}

func mustInit(t *testing.T, w *runtime.Workdir) {
	t.Helper()
	if _, err := w.Init(t.Context(), runtime.InitOptions{}); err != nil {
		t.Fatal(err)
	}
}

// moments of the apply phase as "ADDRESS ACTION MOMENT", sorted because siblings run at once.
func moments(res *runtime.Result) []string {
	var got []string
	for _, e := range res.Resources {
		if e.Phase == runtime.PhaseApply {
			got = append(got, e.Address+" "+string(e.Action)+" "+string(e.Moment))
		}
	}
	slices.Sort(got)
	return got
}

func planned(changes []runtime.Change) []string {
	var got []string
	for _, c := range changes {
		got = append(got, strings.TrimSpace(c.Address+" "+string(c.Action)+" "+c.Reason))
	}
	slices.Sort(got)
	return got
}

func TestCycle(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		w := set(t, b, moduleHCL, runtime.WorkdirOptions{})
		ctx := t.Context()

		if _, err := w.Validate(ctx); err == nil {
			t.Error("validate passed before init")
		} else {
			mustFail(t, err, "validate", "root/main.tf.json:4", "Module not installed")
		}
		res, err := w.Init(ctx, runtime.InitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if res.Skipped || res.Duration <= 0 {
			t.Errorf("init: %+v", res)
		}
		if res, err = w.Validate(ctx); err != nil || len(res.Diagnostics) > 0 {
			t.Fatalf("validate: %v %+v", err, res)
		}

		// Before the first apply there is nothing, and no error.
		if values, err := w.Outputs(ctx); err != nil || len(values) > 0 {
			t.Errorf("outputs before apply: %v %v", values, err)
		}

		res, err = w.Plan(ctx, runtime.PlanOptions{Out: "plan"})
		if err != nil {
			t.Fatal(err)
		}
		all := []string{
			`module.role.terraform_data.each["a"] create`,
			`module.role.terraform_data.each["b"] create`,
			"module.role.terraform_data.first create",
		}
		if d := cmp.Diff(all, planned(res.Planned)); d != "" || !res.Changed || res.Summary == nil || res.Summary.Add != 3 {
			t.Errorf("plan (-want +got): %s%+v", d, res)
		}
		plan, err := w.ShowPlan(ctx, "plan")
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.ResourceChanges) != 3 || !plan.ResourceChanges[0].Change.Actions.Create() {
			t.Errorf("plan file: %+v", plan.ResourceChanges)
		}

		res, err = w.Apply(ctx, runtime.ApplyOptions{PlanFile: "plan"})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			`module.role.terraform_data.each["a"] create complete`,
			`module.role.terraform_data.each["a"] create start`,
			`module.role.terraform_data.each["b"] create complete`,
			`module.role.terraform_data.each["b"] create start`,
			"module.role.terraform_data.first create complete",
			"module.role.terraform_data.first create start",
		}
		if d := cmp.Diff(want, moments(res)); d != "" {
			t.Errorf("apply (-want +got): %s", d)
		}
		if first := res.Resources[0]; first.Address != "module.role.terraform_data.first" || first.Time.IsZero() {
			t.Errorf("first event: %+v", first)
		}

		st, err := w.State()
		if err != nil {
			t.Fatal(err)
		}
		checkState(t, w, st)

		// Nothing changed: nothing to do.
		if res, err = w.Plan(ctx, runtime.PlanOptions{}); err != nil || res.Changed || len(res.Planned) > 0 {
			t.Errorf("second plan: %v %+v", err, res)
		}
		if res, err = w.Plan(ctx, runtime.PlanOptions{RefreshOnly: true}); err != nil || res.Changed {
			t.Errorf("refresh-only plan: %v %+v", err, res)
		}
		if res, err = w.Refresh(ctx); err != nil || len(moments(res)) > 0 {
			t.Errorf("refresh: %v %+v", err, res)
		}

		// A longer name replaces, and replaced ids update what depends on them.
		runtimetest.Write(t, w.Dir(), map[string]string{"terraform.tfvars.json": `{"name": "three"}`})
		res, err = w.Plan(ctx, runtime.PlanOptions{NoRefresh: true})
		if err != nil {
			t.Fatal(err)
		}
		want = []string{
			`module.role.terraform_data.each["a"] update`,
			`module.role.terraform_data.each["b"] update`,
			"module.role.terraform_data.first replace cannot_update",
		}
		if d := cmp.Diff(want, planned(res.Planned)); d != "" || !res.Changed {
			t.Errorf("replacement (-want +got): %s", d)
		}
		if res, err = w.Apply(ctx, runtime.ApplyOptions{NoRefresh: true}); err != nil {
			t.Fatal(err)
		}
		if res.Summary == nil || res.Summary.Operation != "apply" || res.Summary.Add != 1 || res.Summary.Remove != 1 {
			t.Errorf("summary: %+v", res.Summary)
		}

		if res, err = w.Apply(ctx, runtime.ApplyOptions{Replace: []string{`module.role.terraform_data.each["a"]`}, Targets: []string{"module.role"}}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{`module.role.terraform_data.each["a"] replace requested`}, planned(res.Planned)); d != "" {
			t.Errorf("replace on request (-want +got): %s", d)
		}

		// A change of an output alone is one as well.
		runtimetest.Write(t, filepath.Dir(w.Dir()), map[string]string{
			"module/main.tf": strings.Replace(moduleHCL, "value = null", `value = "something"`, 1),
		})
		if res, err = w.Plan(ctx, runtime.PlanOptions{}); err != nil || !res.Changed || len(res.Planned) > 0 || res.Outputs["nothing"] != runtime.Create {
			t.Errorf("plan with another output: %v %+v", err, res)
		}

		if res, err = w.Plan(ctx, runtime.PlanOptions{Destroy: true}); err != nil || len(res.Planned) != 3 {
			t.Errorf("destroy plan: %v %+v", err, res)
		}
		if res, err = w.Destroy(ctx, runtime.ApplyOptions{}); err != nil || len(moments(res)) != 6 {
			t.Fatalf("destroy: %v %+v", err, res)
		}
		if st, err = w.State(); err != nil || len(st.Resources)+len(st.Outputs) > 0 {
			t.Errorf("state after destroy: %v %+v", err, st)
		}
		if _, err := w.Destroy(ctx, runtime.ApplyOptions{}); err != nil {
			t.Errorf("destroying nothing: %v", err)
		}
		checkLogs(t, w)
	})
}

// checkState compares our reading of the state with that of the runtime.
func checkState(t *testing.T, w *runtime.Workdir, st *runtime.State) {
	t.Helper()
	shown, err := w.ShowState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	values, err := w.Outputs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// A null output is in neither (H20).
	if d := cmp.Diff([]string{"id"}, slices.Sorted(maps.Keys(values))); d != "" {
		t.Errorf("outputs (-want +got): %s", d)
	}
	var id string
	if err := json.Unmarshal(values["id"], &id); err != nil || id != shown.Values.Outputs["id"].Value {
		t.Errorf("id %q (%v), the runtime says %v", id, err, shown.Values.Outputs["id"].Value)
	}
	if !st.Outputs["id"].Sensitive || string(st.Outputs["id"].Type) != `"string"` {
		t.Errorf("output: %+v", st.Outputs["id"])
	}
	var want, got []string
	var walk func(m *tfjson.StateModule)
	walk = func(m *tfjson.StateModule) {
		for _, r := range m.Resources {
			want = append(want, r.Address)
		}
		for _, c := range m.ChildModules {
			walk(c)
		}
	}
	walk(shown.Values.RootModule)
	for _, r := range st.Resources {
		got = append(got, r.Address)
		if !r.Managed || r.Type != "terraform_data" || r.Module != "module.role" || r.Tainted || len(r.Attributes) == 0 {
			t.Errorf("resource: %+v", r)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" || len(got) != 3 {
		t.Errorf("addresses (-runtime +ours): %s", d)
	}
	if st.Serial == 0 || st.Lineage == "" {
		t.Errorf("state: serial %d, lineage %q", st.Serial, st.Lineage)
	}
}

// checkLogs looks that each process left one log, in order, and none of them a state.
func checkLogs(t *testing.T, w *runtime.Workdir) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.Dir(), ".captf", "log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 10 || entries[0].Name() != "0001-validate.log" || entries[1].Name() != "0002-init.log" {
		t.Errorf("logs: %v", entries)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != fs.FileMode(0o600) {
			t.Errorf("log %s has mode %s", e.Name(), info.Mode())
		}
		content, err := os.ReadFile(filepath.Join(w.Dir(), ".captf", "log", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "resource_changes") || strings.Contains(string(content), "lineage") {
			t.Errorf("log %s holds a plan or a state", e.Name())
		}
	}
	// A new user of the same directory goes on counting.
	again := runtimetest.Workdir(t, w.Binary(), w.Dir(), runtime.WorkdirOptions{})
	res, err := again.Validate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(res.Log); err != nil || filepath.Base(res.Log) <= entries[len(entries)-1].Name() {
		t.Errorf("log after reopening: %s %v", res.Log, err)
	}
}

func TestFailingApply(t *testing.T) {
	const module = `variable "name" {}
variable "token" {}

resource "terraform_data" "good" {
  input = var.name
}

resource "terraform_data" "bad" {
  input = terraform_data.good.id

  provisioner "local-exec" {
    command     = "echo the token is $TOKEN; exit 7"
    environment = { TOKEN = var.token }
  }
}

resource "terraform_data" "never" {
  input = terraform_data.bad.id
}

output "id" {
  value = terraform_data.never.id
}

output "nothing" {
  value = terraform_data.good.id
}
`
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		w := set(t, b, module, runtime.WorkdirOptions{Secrets: []string{"s3cr3t-value"}})
		mustInit(t, w)
		res, err := w.Apply(t.Context(), runtime.ApplyOptions{})
		re := mustFail(t, err, b.String()+" apply in "+w.Dir(), "module.role.terraform_data.bad", "local-exec provisioner error", "exit status 7")
		file := filepath.Join(filepath.Dir(w.Dir()), "module", "main.tf")
		if len(re.Diagnostics) != 1 || re.Diagnostics[0].File != file || re.Diagnostics[0].Line != 11 || re.Diagnostics[0].Address != "module.role.terraform_data.bad" {
			t.Errorf("diagnostics: %+v", re.Diagnostics)
		}
		want := []string{
			"module.role.terraform_data.bad create errored",
			"module.role.terraform_data.bad create start",
			"module.role.terraform_data.good create complete",
			"module.role.terraform_data.good create start",
		}
		if d := cmp.Diff(want, moments(res)); d != "" {
			t.Errorf("events (-want +got): %s", d)
		}
		st, err := w.State()
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Resources) != 2 || !st.Resources[0].Tainted || st.Resources[1].Tainted {
			t.Errorf("partial state: %+v", st.Resources)
		}
		log, err := os.ReadFile(res.Log)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(log), "s3cr3t-value") {
			t.Error("the log shows the token")
		}
		if res, err = w.Plan(t.Context(), runtime.PlanOptions{}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"module.role.terraform_data.bad replace tainted", "module.role.terraform_data.never create"}, planned(res.Planned)); d != "" {
			t.Errorf("plan after failure (-want +got): %s", d)
		}
		if _, err := w.Destroy(t.Context(), runtime.ApplyOptions{}); err != nil {
			t.Errorf("destroying what was left: %v", err)
		}
	})
}

func TestBadConfiguration(t *testing.T) {
	for name, tc := range map[string]struct {
		module string
		says   []string
	}{
		"syntax":           {"resource \"terraform_data\" {\n", []string{"module/main.tf:1:"}},
		"missing output":   {"variable \"name\" {}\nvariable \"token\" {}\noutput \"id\" { value = 1 }\n", []string{"main.tf.json:7", "nothing"}},
		"missing variable": {"variable \"name\" {}\noutput \"id\" { value = 1 }\noutput \"nothing\" { value = 1 }\n", []string{"main.tf.json:4", "token"}},
	} {
		t.Run(name, func(t *testing.T) {
			runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
				w := set(t, b, tc.module, runtime.WorkdirOptions{})
				_, err := w.Init(t.Context(), runtime.InitOptions{})
				if err == nil {
					_, err = w.Apply(t.Context(), runtime.ApplyOptions{})
				}
				mustFail(t, err, tc.says...)
			})
		})
	}
}

func TestWarnings(t *testing.T) {
	module := moduleHCL + `
check "name" {
  assert {
    condition     = var.name == "zero"
    error_message = "The name is odd."
  }
}
`
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		w := set(t, b, module, runtime.WorkdirOptions{})
		mustInit(t, w)
		res, err := w.Apply(t.Context(), runtime.ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Errors()) > 0 || len(res.Diagnostics) == 0 || res.Diagnostics[0].Severity != runtime.SeverityWarning || res.Diagnostics[0].Line == 0 {
			t.Errorf("got %+v", res.Diagnostics)
		}
	})
}

func TestEnvironmentDoesNotLeakIn(t *testing.T) {
	t.Setenv("TF_CLI_ARGS", "-no-such-flag")
	t.Setenv("TF_CLI_ARGS_apply", "-no-such-flag")
	t.Setenv("TF_VAR_name", "from the environment")
	t.Setenv("TF_LOG", "TRACE")
	t.Setenv("TF_DATA_DIR", "elsewhere")
	t.Setenv("TF_WORKSPACE", "other")
	t.Setenv("TF_CLI_CONFIG_FILE", "/no/such/file")
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		w := set(t, b, moduleHCL, runtime.WorkdirOptions{})
		mustInit(t, w)
		res, err := w.Apply(t.Context(), runtime.ApplyOptions{})
		if err != nil || len(res.Diagnostics) > 0 {
			t.Fatalf("%v %+v", err, res)
		}
		st, err := w.State()
		if err != nil || len(st.Resources) != 3 {
			t.Errorf("%v %+v", err, st)
		}
		log, err := os.ReadFile(res.Log)
		if err != nil || strings.Contains(string(log), "[TRACE]") {
			t.Errorf("%v, the log has trace lines", err)
		}
	})
}

func TestStateElsewhere(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		w := set(t, b, moduleHCL, runtime.WorkdirOptions{})
		// A path of the caller, given at init.
		path := filepath.Join(t.TempDir(), "deep", "state.json")
		if _, err := w.Init(t.Context(), runtime.InitOptions{BackendConfig: []string{"path=" + path}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Apply(t.Context(), runtime.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, err := w.StatePath(); err != nil || got != path {
			t.Errorf("state path %q, %v", got, err)
		}
		if v, err := w.Outputs(t.Context()); err != nil || len(v) != 1 {
			t.Errorf("outputs %v, %v", v, err)
		}
		// Another workspace: the file is not ours to guess, so the runtime is asked.
		runtimetest.Write(t, w.Dir(), map[string]string{".terraform/environment": "other"})
		if _, err := w.State(); !errors.Is(err, runtime.ErrNoLocalState) {
			t.Errorf("state of another workspace: %v", err)
		}
		if v, err := w.Outputs(t.Context()); err != nil || len(v) != 0 {
			t.Errorf("outputs of another workspace: %v, %v", v, err)
		}
	})
}
