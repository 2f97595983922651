package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	all := []string{"--root", dir, "--dir", dir, "--captf", filepath.Join(dir, ".")}
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"help", []string{"--help"}, 0, "-keep"},
		{"nothing", nil, 3, "--root is missing"},
		{"no captf", all[:4], 3, "--captf is missing"},
		{"a path that is not there", append(slices.Clone(all[:4]), "--captf", filepath.Join(dir, "none")), 3, "--captf: stat"},
		{"an unknown flag", append(slices.Clone(all), "--fast"), 3, "not defined: -fast"},
		{"an argument", append(slices.Clone(all), "fast"), 3, `"fast" is no flag`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), c.args, &stdout, &stderr); code != c.code || !strings.Contains(stderr.String(), c.says) || stdout.Len() > 0 {
				t.Errorf("exit code %d, want %d, with %q in\n%s%s", code, c.code, c.says, stderr.String(), stdout.String())
			}
		})
	}
	d := &demo{}
	if err := d.parse(append(all, "--keep"), os.Stderr); err != nil || !d.keep || d.root != dir || d.dir != dir || d.captf != dir {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestFails lets a program be missing: the demo says so, and what it has made so far is gone.
func TestFails(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(prefix+"_KUBECTL", filepath.Join(dir, "none"))
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"--root", dir, "--dir", dir, "--captf", dir}, &stdout, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "finding kubectl by "+prefix+"_KUBECTL") {
		t.Errorf("exit code %d\n%s%s", code, stderr.String(), stdout.String())
	}
}

func TestShell(t *testing.T) {
	var stdout bytes.Buffer
	d := &demo{dir: t.TempDir(), out: &stdout, env: []string{"PATH=" + os.Getenv("PATH"), "WHAT=it's here"}}
	if err := d.writeEnv(); err != nil {
		t.Fatal(err)
	}
	if err := d.run(t.Context(), `echo "$WHAT" > file`, "cat file", "false || true", `. ./env; env -i WHAT="$WHAT" bash -c 'echo "$WHAT"'`); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"$ cat file\nit's here\n", "$ false\n"} {
		if !strings.Contains(stdout.String(), says) {
			t.Errorf("there is no %q in\n%s", says, stdout.String())
		}
	}
	text, err := exec.CommandContext(t.Context(), "bash", "-c", `. "$0"; echo "$WHAT"`, filepath.Join(d.dir, "env")).Output()
	if err != nil || string(text) != "it's here\n" {
		t.Errorf("the environment has %q, %v", text, err)
	}
	var exit *exec.ExitError
	if err := d.run(t.Context(), "echo why >&2; false | cat"); !errors.As(err, &exit) || !strings.Contains(stdout.String(), "why") {
		t.Errorf("%v in\n%s", err, stdout.String())
	}
}

func TestChanges(t *testing.T) {
	before, now := map[string]string{"A": "1", "B": "1", "C": "1"}, map[string]string{"A": "1", "B": "2", "D": "1"}
	var got []string
	for _, line := range changes(before, now) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if want := []string{"B 2", "D 1", "C gone"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestReady(t *testing.T) {
	condition := func(status metav1.ConditionStatus, message string) []metav1.Condition {
		return []metav1.Condition{{Type: infrav1.ReadyCondition, Status: status, Message: message}}
	}
	for _, c := range []struct {
		conditions []metav1.Condition
		want       string
	}{
		{nil, "not looked at yet"},
		{condition(metav1.ConditionTrue, ""), "Ready"},
		{condition(metav1.ConditionFalse, "* One: a\n* Two: b\n* Three: c"), "One: a (and 2 more)"},
		{condition(metav1.ConditionFalse, "One: a"), "One: a"},
	} {
		if got := ready(c.conditions); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	m := &clusterv1.Machine{Spec: clusterv1.MachineSpec{Version: "v1"}, Status: clusterv1.MachineStatus{Phase: "Running", NodeRef: clusterv1.MachineNodeReference{Name: "n"}}}
	if got, want := machine(m), "Running, v1, Node n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// block finds the commands of a page which say that this demo runs them.
var block = regexp.MustCompile("(?ms)^```sh skip: make demo-cluster runs it[^\n]*\n(.*?)^```$")

// TestQuickStart holds the page against the story: what it says is run, is run.
func TestQuickStart(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "clusterctl.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := slices.Concat(identityCommands, createCommands, halfwayCommands, doneCommands, lookCommands, changeCommands, changedCommands, deleteCommands, leftCommands)
	seen := 0
	for _, m := range block.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(m[1]) {
			seen++
			if line = strings.TrimSpace(line); !slices.Contains(commands, line) {
				t.Errorf("the page has a command that the demo does not run: %s", line)
			}
		}
	}
	if seen < 10 {
		t.Errorf("the page has %d commands of the demo", seen)
	}
}
