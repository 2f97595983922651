package state

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// command runs `state` with arguments.
func command(t *testing.T, args ...string) (out, log string, err error) {
	t.Helper()
	cmd := NewCommand()
	var stdout, stderr bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

// TestCommand pulls and pushes, and refuses what the broker would.
func TestCommand(t *testing.T) {
	s, k := newStore(t), newKey(t)
	flags := []string{"--kubeconfig", tools.Environment(t).KubeconfigFile(), "-n", k.Namespace, "--suffix", k.Suffix}
	do := func(args ...string) (string, string, error) { return command(t, append(args, flags...)...) }
	file := func(raw []byte) string {
		path := filepath.Join(t.TempDir(), "x.tfstate")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	want := func(err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want an error with %q", err, text)
		}
	}
	_, _, err := do("pull")
	want(err, "there is no state")
	_, _, err = do("push", file(parts(t, 5, 1)))
	want(err, "--label")
	labels := []string{}
	for key, value := range k.Labels {
		labels = append(labels, "--label", key+"="+value)
	}
	if _, log, err := do(append([]string{"push", file(parts(t, 5, 1))}, labels...)...); err != nil || !strings.Contains(log, "stored serial 5") {
		t.Fatalf("%v: %s", err, log)
	}
	if got := stored(t, s, k).parts[0].Labels["captf.io/managed"]; got != "true" {
		t.Errorf("the Secret's labels are not the given ones")
	}
	out, log, err := do("pull")
	if err != nil || out != string(parts(t, 5, 1)) || !strings.Contains(log, "serial 5") {
		t.Errorf("%v: %s", err, log)
	}
	_, _, err = do("push", file(parts(t, 4, 1)))
	want(err, "--force")
	_, _, err = do("push", file(bytes.ReplaceAll(parts(t, 6, 1), []byte(lineage), []byte("other"))))
	want(err, "lineage")
	if _, _, err = do("push", "--force", file(parts(t, 4, 1))); err != nil {
		t.Error(err)
	}
	sets, err := s.Backups(t.Context(), k)
	if err != nil || len(sets) != 1 || sets[0].Serial != 5 {
		t.Errorf("backups %+v, %v", sets, err)
	}
	if err := s.Acquire(t.Context(), k, &LockInfo{ID: "other", Who: "me@there"}, nil); err != nil {
		t.Fatal(err)
	}
	_, _, err = do("push", file(parts(t, 6, 1)))
	want(err, "me@there")
	if _, err := s.Unlock(t.Context(), k, "other", nil); err != nil {
		t.Fatal(err)
	}
	_, _, err = do("push", file([]byte("{}")))
	want(err, "not a state")
	_, _, err = do("push", filepath.Join(t.TempDir(), "none"))
	want(err, "reading the state to push")
	if l, err := s.Lock(t.Context(), k); l != nil || err != nil {
		t.Errorf("a push left its lock: %v, %v", l, err)
	}
}

// TestCommandKey finds the state of an object.
func TestCommandKey(t *testing.T) {
	for _, test := range []struct {
		a    access
		args []string
		want string // the base Secret, or text of the error
	}{
		{access{}, []string{"terraformcluster/prod"}, "tfstate-default-"},
		{access{}, []string{"TerraformMachines.infrastructure.cluster.x-k8s.io/prod"}, "-m"},
		{access{}, []string{"terraformmachinepool/prod"}, "-mp"},
		{access{suffix: "abc-c"}, nil, "tfstate-default-abc-c"},
		{access{suffix: "abc-c"}, []string{"terraformcluster/prod"}, "not both"},
		{access{}, nil, "give OBJECT"},
		{access{}, []string{"prod"}, "not of the form"},
		{access{}, []string{"cluster/prod"}, "not of the form"},
		{access{}, []string{"terraformcluster/"}, "not of the form"},
		{access{suffix: "a", labels: []string{"x"}}, nil, "KEY=VALUE"},
	} {
		k, err := test.a.key("ns", test.args)
		got := k.Secret(0)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%+v %v: %s, want %s", test.a, test.args, got, test.want)
		}
	}
	k, err := (&access{}).key("ns", []string{"terraformcluster/prod"})
	if other, _ := (&access{}).key("ns2", []string{"terraformcluster/prod"}); err != nil || k.Suffix == other.Suffix {
		t.Errorf("the namespace is not part of the suffix: %v, %v", k, err)
	}
}
