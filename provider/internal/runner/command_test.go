package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/result"
)

func command(args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	code = Main(args, &out, &errOut, "v1.2.3")
	return code, out.String(), errOut.String()
}

func TestUsage(t *testing.T) {
	res := filepath.Join(t.TempDir(), "result")
	run := func(args ...string) []string {
		return append([]string{"run", "--result=" + res, "--module=m", "--config=c", "--workdir=w"}, args...)
	}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no command":        {nil, "a command is required"},
		"unknown command":   {[]string{"walk"}, `"walk"`},
		"unknown flag":      {[]string{"run", "--fast"}, "--fast"},
		"no operation":      {run(), "--op is required"},
		"wrong operation":   {run("--op=restore"), "--op=restore is no operation"},
		"argument":          {run("--op=apply", "x"), `"x"`},
		"no duration":       {run("--op=apply", "--lock-timeout=soon"), "soon"},
		"negative":          {run("--op=apply", "--stop-timeout=-1s"), "negative"},
		"guard of a plan":   {run("--op=plan", "--guard-deletes"), "are for --op=apply"},
		"events by nobody":  {run("--op=plan", "--events"), "--events needs --broker"},
		"local and broker":  {run("--op=plan", "--local", "--broker=b"), "exclude each other"},
		"no runtime":        {run("--op=plan", "--bin="), "--bin is empty"},
		"copy to nowhere":   {[]string{"copy"}, "exactly one destination"},
		"copy to many":      {[]string{"copy", "a", "b"}, "not 2"},
		"version of what":   {[]string{"version", "x"}, `"x"`},
		"local needs paths": {[]string{"run", "--local", "--op=plan"}, "are required"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(tt.args...)
			if code != ExitUsage || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit %d, stderr %q, wanted 2 and %q", code, stderr, tt.want)
			}
			if strings.Contains(stdout, "Usage") {
				t.Errorf("stdout: %q", stdout)
			}
		})
	}
	// A wrong flag of a Job is told in the result as well.
	command(run("--op=apply", "--lock-timeout=-1s")...)
	raw, err := os.ReadFile(res)
	if err != nil {
		t.Fatal(err)
	}
	d, err := result.Decode(raw)
	if err != nil || d.Error.Step != stepFlags || d.Error.Kind != infrav1.RunErrorStep {
		t.Errorf("%+v %v", d, err)
	}
}

func TestVersion(t *testing.T) {
	for args, want := range map[string]string{"version": "runner v1.2.3\n", "--version": "runner v1.2.3\n", "--version=raw": "v1.2.3\n"} {
		if code, stdout, _ := command(args); code != ExitOK || stdout != want {
			t.Errorf("%s: exit %d, %q", args, code, stdout)
		}
	}
}

// TestCopy: what was copied runs.
func TestCopy(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "bin")
	if code, _, stderr := command("copy", filepath.Join(dest, "runner")); code != ExitFailed || !strings.Contains(stderr, "copying the runner") {
		t.Errorf("into a directory that is not there: exit %d, %q", code, stderr)
	}
	if err := os.Mkdir(dest, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dest, "runner")
	for range 2 { // a container that is started again
		if code, _, stderr := command("copy", path); code != ExitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	cmd := exec.CommandContext(t.Context(), path, "version")
	cmd.Env = append(os.Environ(), envRole+"=runner")
	if out, err := cmd.Output(); err != nil || string(out) != "runner v0.0.0-test\n" {
		t.Errorf("%q, %v", out, err)
	}
	if left, err := os.ReadDir(dest); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestLocal reproduces a Job from the files of its inputs, a module and a runtime, without a cluster.
func TestLocal(t *testing.T) {
	eachRuntime(t, func(t *testing.T, bin string) {
		j := newJob(t, bin, map[string]string{"main.tf": plainModule})
		// Nothing is where it is in an image.
		module := filepath.Join(t.TempDir(), "some", "where")
		if err := os.MkdirAll(filepath.Dir(module), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(j.o.Module, module); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TF_LOG", "")
		local := func(op string, more ...string) *result.Document {
			t.Helper()
			code, stdout, stderr := command(append([]string{
				"run", "--local", "--op=" + op, "--config=" + j.o.Config, "--module=" + module, "--bin=" + bin,
			}, more...)...)
			d, err := result.Decode([]byte(stdout))
			if err != nil || (code == ExitOK) != (d.Error == nil) {
				t.Fatalf("exit %d, %v: %s\n%s", code, err, stdout, stderr)
			}
			if d.Error != nil && d.Error.Kind == infrav1.RunErrorStep {
				t.Fatalf("%+v\n%s", d.Error, stderr)
			}
			return d
		}
		if got, want := stepNames(local("apply")), "init validate apply"; got != want {
			t.Errorf("steps: %s, wanted %s", got, want)
		}
		if _, err := os.Stat(filepath.Join(j.o.Config, "terraform.tfstate")); err != nil {
			t.Error(err)
		}
		// Initialised already (design D7).
		if got, want := stepNames(local("apply", "--guard-deletes")), "validate plan"; got != want {
			t.Errorf("steps: %s, wanted %s", got, want)
		}
		j.values(map[string]any{"name": "two"}, nil)
		if d := local("apply", "--guard-deletes"); d.Error == nil || d.Error.Kind != infrav1.RunErrorBlocked {
			t.Errorf("%+v", d.Error)
		}
		// Another module needs another init.
		if err := os.WriteFile(filepath.Join(module, "more.tf"), []byte("output \"more\" {\n  value = 1\n}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, want := stepNames(local("destroy")), "init destroy"; got != want {
			t.Errorf("steps: %s, wanted %s", got, want)
		}
	})
}

// TestLocalRefusals: what the runtime refuses in a Job, it refuses in a local run.
func TestLocalRefusals(t *testing.T) {
	eachRuntime(t, func(t *testing.T, bin string) {
		j := newJob(t, bin, map[string]string{"main.tf": plainModule})
		j.values(map[string]any{"name": "one", "surplus": "two"}, nil)
		module := filepath.Join(t.TempDir(), "elsewhere")
		if err := os.Rename(j.o.Module, module); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := command("run", "--local", "--op=apply", "--config="+j.o.Config, "--module="+module, "--bin="+bin)
		d, err := result.Decode([]byte(stdout))
		if err != nil || code == ExitOK || d.Error == nil || !strings.Contains(d.Error.Tail, `"surplus"`) {
			t.Errorf("exit %d, %v: %s\n%s", code, err, stdout, stderr)
		}
	})
}

// TestLocalDebug: the runtime's debug log, which a Job never has, is what a local run is for.
func TestLocalDebug(t *testing.T) {
	j := fakeJob(t, "silent")
	for _, local := range []bool{false, true} {
		o := j.o
		o.Local = local
		w, err := prepare(o, []string{"TF_LOG=debug", "TF_LOG_PATH=x", "TF_VAR_a=b", "PATH=/bin"}, newRedactor())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(w.env, " "), "TF_LOG=debug"); got != local {
			t.Errorf("local %v: TF_LOG is handed on: %v", local, got)
		}
		if want := map[bool]string{false: "TF_LOG TF_LOG_PATH TF_VAR_a", true: "TF_VAR_a"}[local]; strings.Join(w.dropped, " ") != want {
			t.Errorf("local %v: dropped %v, wanted %s", local, w.dropped, want)
		}
	}
}

// TestEnvironment is that of image.md 8 and B-584.
func TestEnvironment(t *testing.T) {
	j := fakeJob(t, "silent")
	if err := os.MkdirAll(j.o.Providers, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := prepare(j.o, []string{
		"PATH=/bin", "HOME=/root", "TF_IN_AUTOMATION=yes", "TF_INPUT=0", "KUBE_NAMESPACE=team", "KUBE_CONFIG_PATH=x", "TF_DATA_DIR=x",
		"TF_WORKSPACE=other", "TF_CLI_ARGS=-destroy", "CLOUD_TOKEN=t", "TMPDIR=" + t.TempDir(),
	}, newRedactor())
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, kv := range w.env {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	for name, want := range map[string]string{
		"HOME": j.o.Work, "TF_DATA_DIR": j.o.Work + "/.terraform", "TF_IN_AUTOMATION": "yes", "TF_INPUT": "0", "KUBE_NAMESPACE": "team",
		"TF_CLI_CONFIG_FILE": j.o.Work + "/cli.tfrc", "CHECKPOINT_DISABLE": "1", "CLOUD_TOKEN": "t", "PATH": "/bin",
		"TF_WORKSPACE": "", "TF_CLI_ARGS": "", "KUBE_CONFIG_PATH": "", "TF_PLUGIN_CACHE_DIR": "",
	} {
		if env[name] != want {
			t.Errorf("%s=%q, wanted %q", name, env[name], want)
		}
	}
	if got, want := strings.Join(w.dropped, " "), "KUBE_CONFIG_PATH TF_CLI_ARGS TF_DATA_DIR TF_WORKSPACE"; got != want {
		t.Errorf("dropped %s, wanted %s", got, want)
	}
	rc, err := os.ReadFile(filepath.Join(j.o.Work, "cli.tfrc"))
	if err != nil || !strings.Contains(string(rc), `path    = "`+j.o.Providers+`"`) || strings.Count(string(rc), `["*/*/*"]`) != 2 {
		t.Errorf("%v\n%s", err, rc)
	}
	for _, name := range []string{"main.tf.json", "terraform.tfvars.json"} {
		info, err := os.Stat(filepath.Join(w.root, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

// TestMountedSecret: a Secret's files are links into a directory beside them.
func TestMountedSecret(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "..2026_01_01")
	if err := errors.Join(os.Mkdir(data, 0o755), os.Symlink("..2026_01_01", filepath.Join(dir, "..data")), os.Mkdir(filepath.Join(dir, "restore"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main.tf.json", "terraform.tfvars.json"} {
		if err := errors.Join(os.WriteFile(filepath.Join(data, name), []byte("{}"), 0o440), os.Symlink("..data/"+name, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	files, err := readConfig(dir)
	if err != nil || len(files) != 2 || string(files["main.tf.json"]) != "{}" {
		t.Errorf("%v %v", files, err)
	}
}

// TestRelocate replaces the path of a module and nothing else.
func TestRelocate(t *testing.T) {
	const root = "{\n  \"module\": {\n    \"role\": {\n      \"source\": \"%s\",\n      \"name\": \"${var.name}\"\n    }\n  }\n}\n"
	for from, want := range map[string]string{
		"../../module":              "../../else/where",
		"./module":                  "../../else/where",
		"../../else/where":          "../../else/where",
		"registry.test/a/b/c":       "registry.test/a/b/c",
		"git::https://example.test": "git::https://example.test",
	} {
		w := &workspace{root: "/w/root"}
		got, err := w.relocate("/else/where", fmt.Appendf(nil, root, from))
		if want := fmt.Sprintf(root, want); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s", from, err, got)
		}
	}
	w := &workspace{root: "/w/root"}
	if _, err := w.relocate("/else/${where}", fmt.Appendf(nil, root, "./module")); err == nil || !strings.Contains(err.Error(), "use another path") {
		t.Errorf("a path that is a template: %v", err)
	}
	if got, err := w.relocate("/else", []byte("{")); err != nil || string(got) != "{" {
		t.Errorf("a root that cannot be read: %v %s", err, got)
	}
}

func FuzzRelocate(f *testing.F) {
	f.Add([]byte(`{"module":{"role":{"source":"../../module"}}}`))
	f.Add([]byte(`{"module":{"a":{"source":"./a"},"b":[{"source":"./b"},{}]}}`))
	f.Add([]byte(`{"module":[]}`))
	f.Fuzz(func(t *testing.T, root []byte) {
		w := &workspace{root: "/w/root"}
		moved, err := w.relocate("/somewhere", root)
		if err != nil || json.Valid(root) && !json.Valid(moved) {
			t.Errorf("%v: %s", err, moved)
		}
		newRedactor().addVariables(root, root)
		newRedactor().addPlan(root)
	})
}
