package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// TestHarnessListScenarios: the list says what each needs, and prints a file.
func TestHarnessListScenarios(t *testing.T) {
	code, stdout, stderr := captf(t, "harness", "list", "-o", "json", "--control-plane", "kcp", "--scenario", "fault-quota,k16,fault-token-rotates")
	var list []listedScenario
	if err := json.Unmarshal([]byte(stdout), &list); code != exitOK || err != nil || len(list) != 3 {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	needs := map[string]string{}
	for _, s := range list {
		needs[s.ID] = strings.Join(s.Needs, ",") + "|" + s.Stalls
	}
	if needs["fault-quota"] != "a simulated cloud|" || needs["fault-token-rotates"] != "a pool|" || needs["K16"] != "|kcp/endpoint-valid" {
		t.Errorf("needs are %v", needs)
	}
	for _, id := range []string{"K4", "K16"} {
		args := []string{"harness", "list", "-o", "yaml", "--control-plane", "kcp", "--scenario", id}
		if code, stdout, stderr = captf(t, args...); code != exitOK || !strings.HasPrefix(stdout, "id: "+id+"\n") {
			t.Errorf("%s: exit %d: %s%s", id, code, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"-o", "yaml"}, {"--scenario", "K99"}, {"--control-plane", "k3s"}} {
		if code, _, stderr = captf(t, append([]string{"harness", "list"}, args...)...); code != exitUsage || stderr == "" {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
}

// TestHarnessScenarioFiles: a file's mistakes are a matter of the command line, with their place.
func TestHarnessScenarioFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bad := write("bad.yaml", "id: bad\ntitle: bad\nsteps:\n  - ask: {controlPlane: 1}\n")
	other := write("other.yaml", "id: other\ntitle: other\ncontrolPlanes: [rke2]\nsteps:\n  - ask: {controlPlanes: 2}\n")
	for name, tt := range map[string]struct {
		args  []string
		parts []string
	}{
		"a mistake":           {[]string{"--scenario-file", bad}, []string{bad + `:4:11: steps[0].ask has no key "controlPlane"; did you mean "controlPlanes"?`}},
		"no file":             {[]string{"--scenario-file", filepath.Join(dir, "none.yaml")}, []string{"--scenario-file", "none.yaml", "no such file"}},
		"another plane":       {[]string{"--scenario-file", other}, []string{"it is for rke2, and --control-plane is kcp"}},
		"too many at random":  {[]string{"--random", "100001"}, []string{"--random 100001"}},
		"all and random":      {[]string{"--random", "1", "--all"}, []string{"exclude each other"}},
		"all and one by name": {[]string{"--scenario", "K1", "--all"}, []string{"exclude each other"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := captf(t, append(append([]string{"harness", "run"}, tt.args...), noop)...)
			if code != exitUsage {
				t.Errorf("exit %d", code)
			}
			for _, part := range tt.parts {
				if !strings.Contains(stderr, part) {
					t.Errorf("%q is not in %s", part, stderr)
				}
			}
		})
	}
}

// TestHarnessScenarioFileIsPlayed plays a file with a fault on real modules.
func TestHarnessScenarioFileIsPlayed(t *testing.T) {
	tofu := runtimetest.OpenTofu(t).Path
	tmp := scratchDir(t)
	file := filepath.Join(t.TempDir(), "mine.yaml")
	text := "id: mine\ntitle: the first apply of the machine breaks\nsteps:\n  - fault: {kind: apply-fails, role: machine}\n  - ask: {controlPlanes: 1}\n  - ask: {delete: true}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := captf(t, "harness", "run", "--runtime", tofu, "--scenario-file", file, "-o", "json", "--no-progress", noop)
	var r harness.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("exit %d: %v: %s%s", code, err, stdout, stderr)
	}
	if code != exitOK || r.Scenario != "mine" || r.ScenarioFile != file || !strings.Contains(r.Command, "--scenario-file") {
		t.Errorf("exit %d, scenario %q of %q, command %q\n%s", code, r.Scenario, r.ScenarioFile, r.Command, stderr)
	}
	if len(r.Faults) != 1 || !r.Faults[0].Survived || r.Faults[0].Op != harness.OpApply {
		t.Errorf("faults are %+v", r.Faults)
	}
	checkEmpty(t, tmp)
}
