package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/provider/internal/state"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// module is a working directory of a real runtime whose state the broker keeps.
type module struct {
	t   *testing.T
	bin *runtime.Binary
	dir string
	env []string
}

// runtimeEnv is what a runtime gets beside its backend.
func runtimeEnv(t *testing.T) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0",
		"TF_CLI_CONFIG_FILE=" + os.DevNull, "TF_HTTP_RETRY_WAIT_MIN=1", "TF_HTTP_RETRY_WAIT_MAX=1",
	}
}

// httpEnv is what the runner gives a runtime (recipes of the http backend).
func (f *fixture) httpEnv(unlock string) []string {
	url := f.url + "/state"
	return []string{
		"TF_HTTP_ADDRESS=" + url, "TF_HTTP_LOCK_ADDRESS=" + url, "TF_HTTP_UNLOCK_ADDRESS=" + url + unlock,
		"TF_HTTP_USERNAME=" + f.session.Username, "TF_HTTP_PASSWORD=" + f.session.Password,
	}
}

func (f *fixture) module(b *runtime.Binary, body string) *module {
	f.t.Helper()
	m := &module{t: f.t, bin: b, dir: f.t.TempDir(), env: append(runtimeEnv(f.t), f.httpEnv("")...)}
	runtimetest.Write(f.t, m.dir, map[string]string{"main.tf": "terraform {\n  backend \"http\" {}\n}\n" + body})
	m.must("init", "-no-color")
	return m
}

func (m *module) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(m.t.Context(), m.bin.Path, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = m.dir, m.env, &out, &out
	return cmd, &out
}

func (m *module) run(args ...string) (string, error) {
	cmd, out := m.command(args...)
	err := cmd.Run()
	return out.String(), err
}

func (m *module) must(args ...string) string {
	m.t.Helper()
	out, err := m.run(args...)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

const apply = `
resource "terraform_data" "x" { input = "v1" }
output "o" { value = terraform_data.x.output }
`

// TestRuntimes has real runtimes live on the broker: apply, change, destroy; what they stored their own kubernetes backend
// reads.
func TestRuntimes(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		f := newFixture(t, nil)
		m := f.module(b, apply)
		m.must("apply", "-auto-approve", "-no-color")
		st, err := f.Store.Read(t.Context(), f.Key)
		if err != nil || st.Resources != 1 || string(st.Outputs["o"].Value) != `"v1"` {
			t.Fatalf("read %+v, %v", st, err)
		}
		if l, err := f.Store.Lock(t.Context(), f.Key); err != nil || l != nil {
			t.Errorf("the lock afterwards is %+v, %v", l, err)
		}
		runtimetest.Write(t, m.dir, map[string]string{"main.tf": "terraform {\n  backend \"http\" {}\n}\n" + strings.ReplaceAll(apply, "v1", "v2")})
		m.must("apply", "-auto-approve", "-no-color")
		next, err := f.Store.Read(t.Context(), f.Key)
		if err != nil || next.Serial <= st.Serial || next.Lineage != st.Lineage {
			t.Errorf("read %+v, %v", next, err)
		}

		stock := &module{t: t, bin: b, dir: t.TempDir(), env: append(runtimeEnv(t), "KUBE_CONFIG_PATH="+tools.Environment(t).KubeconfigFile())}
		runtimetest.Write(t, stock.dir, map[string]string{"main.tf": fmt.Sprintf(
			"terraform {\n  backend \"kubernetes\" {\n    secret_suffix = %q\n    namespace = %q\n  }\n}\n", f.Key.Suffix, f.Key.Namespace)})
		stock.must("init", "-no-color")
		if out := stock.must("state", "list"); strings.TrimSpace(out) != "terraform_data.x" {
			t.Errorf("a stock binary lists %q", out)
		}

		m.must("destroy", "-auto-approve", "-no-color")
		st, err = f.Store.Read(t.Context(), f.Key)
		if err != nil || st.Resources != 0 || st.Serial <= next.Serial {
			t.Errorf("after destroy: %+v, %v", st, err)
		}
		if sets, err := f.Store.Backups(t.Context(), f.Key); err != nil || len(sets) != 2 || !sets[0].Complete {
			t.Errorf("backups %+v, %v", sets, err)
		}
	})
}

// TestRuntimeLarge keeps a state over the cap of a Secret.
func TestRuntimeLarge(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		f := newFixture(t, nil)
		m := f.module(b, `
			output "noise" {
			  value     = file("noise")
			  sensitive = true # else it is printed
			}
			resource "terraform_data" "x" {}
		`)
		noise := make([]byte, 0, 3<<20)
		for x, i := uint64(1), 0; i < cap(noise); i++ { // text that does not compress much
			x = x*6364136223846793005 + 1442695040888963407
			noise = append(noise, 'A'+byte(x>>59))
		}
		runtimetest.Write(t, m.dir, map[string]string{"noise": string(noise)})
		m.must("apply", "-auto-approve", "-no-color")
		st, err := f.Store.Read(t.Context(), f.Key)
		if err != nil || st.Parts < 2 || st.Interrupted {
			t.Fatalf("read %d parts, %v", st.Parts, err)
		}
		if out := m.must("state", "list"); strings.TrimSpace(out) != "terraform_data.x" {
			t.Errorf("listed %q", out)
		}
		m.must("destroy", "-auto-approve", "-no-color")
		if st, err = f.Store.Read(t.Context(), f.Key); err != nil || st.Parts != 1 {
			t.Errorf("after destroy: %+v, %v", st, err)
		}
	})
}

// TestRuntimeLocks has a second run wait for the lock of another pod, and free it by force-unlock only once it is stale.
func TestRuntimeLocks(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		f := newFixture(t, nil)
		m := f.module(b, apply)
		dead := &state.Holder{Job: "job-0", Pod: "pod-0", PodUID: "uid-0"}
		id := "11111111-2222-3333-4444-555555555555"
		if err := f.Store.Acquire(t.Context(), f.Key, &state.LockInfo{ID: id, Who: "other@pod-0"}, dead); err != nil {
			t.Fatal(err)
		}
		if out, err := m.run("apply", "-auto-approve", "-no-color", "-lock-timeout=0s"); err == nil || !strings.Contains(out, id) {
			t.Errorf("applying under another's lock: %v\n%s", err, out)
		}
		m.env = append(runtimeEnv(t), f.httpEnv("?id="+id)...)
		if out, err := m.run("force-unlock", "-force", id); err == nil {
			t.Errorf("a live lock was broken:\n%s", out)
		}
		f.clock.Step(state.StaleAfter)
		m.must("force-unlock", "-force", id)
		m.must("force-unlock", "-force", id) // it is free already: success (B-435)
		m.env = append(runtimeEnv(t), f.httpEnv("")...)
		m.must("apply", "-auto-approve", "-no-color")
	})
}

// TestRuntimeKilled kills a runtime in the middle of an apply: the lock stays with the pod, is renewed, and the runner frees
// it by its ID; the next apply goes on from the state that was stored.
func TestRuntimeKilled(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		f := newFixture(t, nil)
		fifo := filepath.Join(t.TempDir(), "fifo")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		m := f.module(b, fmt.Sprintf(`
			resource "terraform_data" "x" {
			  provisioner "local-exec" { command = "cat %s" }
			}
		`, fifo))
		cmd, out := m.command("apply", "-auto-approve", "-no-color")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // it opens once the provisioner runs
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatalf("the runtime survived:\n%s", out)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		l, err := f.Store.Lock(t.Context(), f.Key)
		if err != nil || l == nil || l.Holder == nil || l.Holder.PodUID != "uid" {
			t.Fatalf("the lock is %+v, %v", l, err)
		}
		if got := l.Judge(f.clock.Now().Add(time.Hour), true, state.PodAlive); got != state.VerdictLive {
			t.Errorf("the lock of a living pod is %s", got)
		}
		if got := l.Judge(f.clock.Now().Add(time.Hour), true, state.PodGone); got != state.VerdictStale {
			t.Errorf("the lock of a dead pod is %s", got)
		}
		f.want(200, "UNLOCK", "/state", fmt.Sprintf(`{"ID":%q}`, l.ID))
		runtimetest.Write(t, m.dir, map[string]string{"main.tf": "terraform {\n  backend \"http\" {}\n}\n" + apply})
		m.must("apply", "-auto-approve", "-no-color")
	})
}

// TestRuntimeTrouble has the API server fail for a while: the runtime's repeats get through, and where they do not, the
// state is in errored.tfstate, which is pushed later.
func TestRuntimeTrouble(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		f, c := withFailing(t)
		m := f.module(b, apply)
		var n atomic.Int32
		c.set(nil, func() error {
			if n.Add(1) == 2 { // the Lease is the first
				return errors.New("no route to host")
			}
			return nil
		})
		m.must("apply", "-auto-approve", "-no-color")
		c.set(nil, nil)
		m.must("destroy", "-auto-approve", "-no-color")
		if err := f.Store.Delete(t.Context(), f.Key); err != nil {
			t.Fatal(err)
		}
		c.set(nil, func() error { return errors.New("no route to host") }) // the Lease exists: it is updated
		if out, err := m.run("apply", "-auto-approve", "-no-color"); err == nil {
			t.Fatalf("it was stored nevertheless:\n%s", out)
		}
		c.set(nil, nil)
		m.must("state", "push", "errored.tfstate")
		if st, err := f.Store.Read(t.Context(), f.Key); err != nil || st.Resources != 1 {
			t.Errorf("read %+v, %v", st, err)
		}
	})
}

// TestCommand runs the command as a pod would: with the token of a service account that may do what the sheet lists and
// nothing else (B-515).
func TestCommand(t *testing.T) {
	env, ns := tools.Environment(t), tools.Namespace(t)
	account := newAccount(t, env, ns)
	session := t.TempDir()
	args := []string{
		"--session", session, "--service-account-dir", account, "--namespace", ns, "--state-suffix", "abc-c", "--job", "job",
		"--run-secret", "captf-run-job", "--label", "captf.io/managed=true", "--backups", "2",
		"--event-object", "infrastructure.cluster.x-k8s.io/v1alpha1/TerraformCluster/" + ns + "/prod/1-2",
	}
	t.Setenv(EnvPodName, "pod")
	t.Setenv(EnvPodUID, "uid")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cmd := NewCommand()
	log := &journal{}
	cmd.SetArgs(args)
	cmd.SetErr(log)
	cmd.SetOut(log)
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()

	s := awaitSession(t, session, ended)
	ask := func(want int, method, path, body string) {
		t.Helper()
		if got, answer := request(t, s, method, "http://"+s.Address+path, body); got != want {
			t.Errorf("%s %s: %d %s, want %d", method, path, got, answer, want)
		}
	}
	ask(200, "GET", "/healthz", "")
	ask(404, "GET", "/state", "")
	ask(200, "LOCK", "/state", lockInfo("id-1", "OperationTypeApply"))
	for serial := 1; serial < 6; serial++ {
		ask(200, "POST", "/state?ID=id-1", document(serial, lineage, canary))
	}
	ask(200, "GET", "/state", "")
	ask(200, "UNLOCK", "/state", `{"ID":"id-1"}`)
	ask(204, "POST", "/v1/event", eventBody("RunStarted", "x"))
	ask(404, "POST", "/v1/plan", "{}")
	ask(404, "PUT", "/v1/result", `{"version":1,"op":"apply"}`)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), canary) || strings.Contains(log.String(), s.Password) || strings.Contains(log.String(), "event") && strings.Contains(log.String(), "no more") {
		t.Errorf("the log:\n%s", log)
	}
	events, err := env.Clients().EventsV1().Events(ns).List(t.Context(), listAll)
	if err != nil || len(events.Items) != 1 {
		t.Errorf("events: %d, %v", len(events.Items), err)
	}
}

// TestCommandRefuses says what is missing.
func TestCommandRefuses(t *testing.T) {
	good := []string{"--namespace", "ns", "--state-suffix", "a-c", "--job", "j", "--run-secret", "r", "--session", t.TempDir()}
	for name, test := range map[string]struct {
		args []string
		env  map[string]string
		want string
	}{
		"flags":      {nil, nil, "required flag"},
		"pod":        {good, map[string]string{EnvPodUID: ""}, "POD_UID"},
		"label":      {append(good, "--label", "x"), nil, "KEY=VALUE"},
		"backups":    {append(good, "--backups", "-1"), nil, "negative"},
		"object":     {append(good, "--event-object", "x"), nil, "apiVersion/kind"},
		"no cluster": {good, map[string]string{"KUBERNETES_SERVICE_HOST": ""}, "KUBERNETES_SERVICE_HOST"},
		"no token":   {append(good, "--service-account-dir", t.TempDir()), nil, "service account"},
		"kubeconfig": {append(good, "--kubeconfig", filepath.Join(t.TempDir(), "none")), nil, "--kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range map[string]string{EnvPodName: "p", EnvPodUID: "u", "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"} {
				t.Setenv(k, v)
			}
			for k, v := range test.env {
				t.Setenv(k, v)
			}
			cmd := NewCommand()
			cmd.SetArgs(test.args)
			cmd.SetErr(&journal{})
			cmd.SetOut(&journal{})
			if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
