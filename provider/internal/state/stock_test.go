package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/captf-toolkit/captf/provider/testenv/tools"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// stock is a working directory of a stock binary.
type stock struct {
	t   *testing.T
	bin *runtime.Binary
	dir string
	env []string
}

// newStock makes a root module whose state is a key's, through the binary's own kubernetes backend, or a local file if the
// key has no suffix.
func newStock(t *testing.T, b *runtime.Binary, k Key, body string) *stock {
	t.Helper()
	s := &stock{t: t, bin: b, dir: t.TempDir(), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0", "TF_CLI_CONFIG_FILE=" + os.DevNull,
		"KUBE_CONFIG_PATH=" + tools.Environment(t).KubeconfigFile(),
	}}
	if k.Suffix != "" {
		body += fmt.Sprintf("terraform {\n  backend \"kubernetes\" {\n    secret_suffix = %q\n    namespace = %q\n  }\n}\n", k.Suffix, k.Namespace)
	}
	runtimetest.Write(t, s.dir, map[string]string{"main.tf": body})
	if out, err := s.run("init", "-no-color"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s
}

func (s *stock) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), s.bin.Path, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

func (s *stock) run(args ...string) (string, error) {
	cmd := s.command(args...)
	var out, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &all
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, all.String())
	}
	return out.String(), err
}

// serialOf reads a state as text.
func serialOf(t *testing.T, raw string) uint64 {
	t.Helper()
	st, err := Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return st.Serial
}

// fullStore returns a Store with parts of the real size.
func fullStore(t testing.TB) *Store {
	s := newStore(t)
	s.partSize = 0
	s.Clock = clock.RealClock{}
	return s
}

// TestStock lets stock binaries work on a state under the cap with their kubernetes backend: they read, lock and write what
// we do, and the other way round.
func TestStock(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		s, k, ctx := fullStore(t), newKey(t), t.Context()
		raw := fmt.Appendf(nil, `{"version":4,"terraform_version":"1.5.0","serial":7,"lineage":%q,"outputs":{"o":{"value":"v","type":"string"}},"resources":[]}`, lineage)
		mustWrite(t, s, k, raw)
		begun, ending := filepath.Join(t.TempDir(), "begun"), filepath.Join(t.TempDir(), "ending") // one each: a reader may not have left yet
		for _, fifo := range []string{begun, ending} {
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := newStock(t, b, k, fmt.Sprintf(`
			resource "terraform_data" "x" {
			  provisioner "local-exec" { command = "cat %s && cat %s" }
			}
			output "o" { value = "w" }
		`, begun, ending))
		out, err := c.run("state", "pull")
		if err != nil || serialOf(t, out) != 7 || !strings.Contains(out, `"v"`) {
			t.Fatalf("pulling: %v\n%s", err, out)
		}

		if err := s.Acquire(ctx, k, &LockInfo{ID: "ours-1", Who: "broker@pod", Created: epoch.Format(time.RFC3339)}, &Holder{Job: "j", Pod: "p", PodUID: "u"}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.run("apply", "-auto-approve", "-no-color"); err == nil || !strings.Contains(err.Error(), "ours-1") || !strings.Contains(err.Error(), "broker@pod") {
			t.Fatalf("a stock binary does not see our lock: %v", err)
		}
		if _, err := s.Unlock(ctx, k, "ours-1", nil); err != nil {
			t.Fatal(err)
		}

		cmd := c.command("apply", "-auto-approve", "-no-color")
		var log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		poke(t, begun) // returns once the provisioner reads: the lock is held
		l, err := s.Lock(ctx, k)
		if err != nil || l == nil || l.Info == nil || l.Info.Operation != "OperationTypeApply" || l.Judge(time.Now().Add(time.Hour), true, PodGone) != VerdictForeign {
			t.Errorf("the lock of a stock binary is %+v, %v", l, err)
		}
		if err := s.Acquire(ctx, k, &LockInfo{ID: "ours-2"}, nil); err == nil {
			t.Error("we took a lock that a stock binary holds")
		}
		poke(t, ending)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, log.String())
		}
		st := mustRead(t, s, k)
		if st.Serial <= 7 || st.Resources != 1 || st.Lineage != lineage || string(st.Outputs["o"].Value) != `"w"` {
			t.Errorf("what a stock binary wrote is read as %+v", st)
		}
		if l, err := s.Lock(ctx, k); l != nil || err != nil {
			t.Errorf("the lock afterwards: %+v, %v", l, err)
		}

		// A stock force-unlock frees a lock of ours.
		if err := s.Acquire(ctx, k, &LockInfo{ID: "ours-3"}, &Holder{Job: "j", Pod: "p", PodUID: "u"}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.run("force-unlock", "-force", "ours-3"); err != nil {
			t.Error(err)
		}
		if l, err := s.Lock(ctx, k); l != nil || err != nil {
			t.Errorf("the lock after a stock force-unlock: %+v, %v", l, err)
		}
		next, err := s.Write(ctx, k, bytes.Replace(raw, []byte(`"serial":7`), fmt.Appendf(nil, `"serial":%d`, st.Serial+1), 1), WriteOptions{Backups: 1})
		if err != nil || next.Parts != 1 {
			t.Errorf("writing over a stock binary's state: %+v, %v", next, err)
		}
	})
}

// poke writes to a pipe, once somebody reads it.
func poke(t *testing.T, fifo string) {
	t.Helper()
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestStockSplit has a state over the cap: Terraform reads the parts, also where a crash left one too many; OpenTofu reads
// it once our command joined it, changes it as a local file, and our command puts it back.
func TestStockSplit(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		s, k := fullStore(t), newKey(t)
		big := document4(t, 8, 2*PartSize+5000)
		var d map[string]any
		if err := json.Unmarshal(big, &d); err != nil {
			t.Fatal(err)
		}
		d["resources"] = []any{map[string]any{
			"mode": "managed", "type": "terraform_data", "name": "x", "provider": `provider["terraform.io/builtin/terraform"]`,
			"instances": []any{map[string]any{"schema_version": 0, "attributes": map[string]any{
				"id": "1", "input": nil, "output": nil, "triggers_replace": nil,
			}}},
		}}
		big, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		noise := d["outputs"].(map[string]any)["noise"].(map[string]any)["value"].(string)
		small := fmt.Appendf(nil, `{"version":4,"terraform_version":"1.5.0","serial":7,"lineage":%q,"outputs":{},"resources":[]}`, lineage)
		mustWrite(t, s, k, small)
		c := newStock(t, b, k, "")

		// A writer that dies before the base Secret is written changes nothing, for either binary.
		dying := *s
		dying.Writer = &crash{Writer: s.Writer, at: 3}
		if _, err := dying.Write(t.Context(), k, big, WriteOptions{}); err == nil {
			t.Fatal("the write did not fail")
		}
		if out, err := c.run("state", "pull"); err != nil || serialOf(t, out) != 7 {
			t.Fatalf("pulling after a crash: %v", err)
		}
		st, err := s.Write(t.Context(), k, big, WriteOptions{})
		if err != nil || st.Parts < 3 {
			t.Fatalf("wrote %+v, %v", st, err)
		}
		if out, err := c.run("state", "pull"); b.Kind == runtime.Terraform {
			if err != nil || serialOf(t, out) != 8 || !strings.Contains(out, noise) {
				t.Fatalf("Terraform does not read the parts: %v", err)
			}
		} else if err == nil {
			t.Error("OpenTofu reads parts now: the documentation of the join-and-push command is out of date")
		}

		local := newStock(t, b, Key{}, "")
		file := filepath.Join(local.dir, "terraform.tfstate")
		flags := []string{"--kubeconfig", tools.Environment(t).KubeconfigFile(), "-n", k.Namespace, "--suffix", k.Suffix}
		out, _, err := command(t, append([]string{"pull"}, flags...)...)
		if err != nil {
			t.Fatal(err)
		}
		runtimetest.Write(t, local.dir, map[string]string{"terraform.tfstate": out})
		if _, err := local.run("state", "mv", "terraform_data.x", "terraform_data.y"); err != nil {
			t.Fatal(err)
		}
		if _, log, err := command(t, append([]string{"push", file}, flags...)...); err != nil || !strings.Contains(log, "1 managed resources") {
			t.Fatalf("pushing: %v\n%s", err, log)
		}
		st = mustRead(t, s, k)
		if st.Serial <= 8 || st.Resources != 1 || st.Lineage != lineage || st.Parts < 3 || st.Interrupted {
			t.Errorf("after pushing: serial %d, %d resources, %d parts", st.Serial, st.Resources, st.Parts)
		}

		// Back to one Secret: each binary reads what was there before the base Secret was written, and the new one after.
		stand := *s
		stand.Writer = &crash{Writer: s.Writer, at: 2}
		fresh := bytes.Replace(small, []byte(`"serial":7`), fmt.Appendf(nil, `"serial":%d`, st.Serial+1), 1)
		if _, err := stand.Write(t.Context(), k, fresh, WriteOptions{}); err == nil {
			t.Fatal("the write did not fail")
		}
		if out, err := c.run("state", "pull"); err != nil || serialOf(t, out) != st.Serial+1 {
			t.Fatalf("pulling with leftover parts: %v", err)
		}
	})
}
