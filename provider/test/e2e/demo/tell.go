package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// tell prints a line of progress.
func (d *demo) tell(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(d.progress, "%6.1fs  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

// note is tell for what other packages report.
func (d *demo) note(line string) { d.tell("   %s", line) }

// say prints a result.
func (d *demo) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(d.out, format+"\n", args...)
}

// run runs commands and shows each with what it prints.
func (d *demo) run(ctx context.Context, commands ...string) error {
	for _, command := range commands {
		out, err := d.shell(ctx, command)
		d.say("\n$ %s", strings.TrimSuffix(command, " || true"))
		if out = strings.TrimRight(out, "\n"); out != "" {
			d.say("%s", out)
		}
		if err != nil {
			return err
		}
	}
	d.say("")
	return nil
}

// shell runs a command as a user would type it, and returns what it printed, warnings too.
func (d *demo) shell(ctx context.Context, command string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", command)
	cmd.Dir, cmd.Env = d.dir, append([]string{"HOME=" + d.dir}, d.env...)
	// A Ctrl-C is for the demo, which then ends what runs.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("running %s: %w", command, err)
	}
	return out.String(), nil
}

// await waits until something is so. What happens meanwhile is told.
func (d *demo) await(ctx context.Context, what string, look func(context.Context) (bool, error)) error {
	said := map[string]string{}
	for {
		now, err := d.now(ctx)
		if err != nil {
			return err
		}
		for _, change := range changes(said, now) {
			d.note(change)
		}
		said = now
		done, err := look(ctx)
		if err != nil {
			return err
		}
		if done {
			d.note(what)
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("waiting in vain: %s: %w", what, ctx.Err())
		}
	}
}

// changes says what is different, in a line each.
func changes(before, now map[string]string) []string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(now)) {
		if before[what] != now[what] {
			out = append(out, fmt.Sprintf("%-52s %s", what, now[what]))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(before)) {
		if _, there := now[what]; !there {
			out = append(out, fmt.Sprintf("%-52s gone", what))
		}
	}
	return out
}

// now says in a few words how the objects are that a user waits for, by kind and name.
func (d *demo) now(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	in := client.InNamespace(namespace)
	machines, clusters, terraformMachines, running := &clusterv1.MachineList{}, &infrav1.TerraformClusterList{}, &infrav1.TerraformMachineList{}, &batchv1.JobList{}
	for _, list := range []client.ObjectList{machines, clusters, terraformMachines, running} {
		if err := d.management.Client.List(ctx, list, in); err != nil {
			return nil, fmt.Errorf("looking at the cluster: %w", err)
		}
	}
	for i := range machines.Items {
		m := &machines.Items[i]
		out["Machine "+m.Name] = machine(m)
	}
	for i := range clusters.Items {
		out["TerraformCluster "+clusters.Items[i].Name] = ready(clusters.Items[i].Status.Conditions)
	}
	for i := range terraformMachines.Items {
		out["TerraformMachine "+terraformMachines.Items[i].Name] = ready(terraformMachines.Items[i].Status.Conditions)
	}
	for i := range running.Items {
		if j := &running.Items[i]; j.Status.CompletionTime == nil && meta.FindStatusCondition(asConditions(j), string(batchv1.JobFailed)) == nil {
			out["Job "+j.Name] = "runs"
		}
	}
	return out, nil
}

// asConditions are a Job's conditions as those of other kinds.
func asConditions(j *batchv1.Job) []metav1.Condition {
	var out []metav1.Condition
	for _, c := range j.Status.Conditions {
		out = append(out, metav1.Condition{Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message})
	}
	return out
}

// machine says how far a Machine is.
func machine(m *clusterv1.Machine) string {
	out := m.Status.Phase + ", " + m.Spec.Version
	if m.Status.NodeRef.IsDefined() {
		out += ", Node " + m.Status.NodeRef.Name
	}
	return strings.TrimPrefix(out, ", ")
}

// ready is the condition Ready in a line.
func ready(all []metav1.Condition) string {
	c := meta.FindStatusCondition(all, infrav1.ReadyCondition)
	switch {
	case c == nil:
		return "not looked at yet"
	case c.Status == metav1.ConditionTrue:
		return "Ready"
	}
	first, rest, _ := strings.Cut(c.Message, "\n") // a condition a line
	first = strings.TrimPrefix(first, "* ")
	if rest != "" {
		first += fmt.Sprintf(" (and %d more)", strings.Count(rest, "\n")+1)
	}
	return first
}

// tellLogs tells the ends of the logs after a failure: everything goes away with the demo.
func (d *demo) tellLogs() {
	const lines = 40
	if d.log != nil {
		text, err := os.ReadFile(d.log.Name())
		if err != nil {
			text = []byte(err.Error())
		}
		all := strings.Split(strings.TrimSpace(string(text)), "\n")
		d.tell("the log of Cluster API ends with\n%s", strings.Join(all[max(0, len(all)-lines):], "\n"))
	}
	if d.management != nil {
		d.tell("the manager's log ends with\n%s", d.management.ManagerLog(lines))
	}
}

// writeEnv writes the environment of the commands into a file that a shell can read.
func (d *demo) writeEnv() error {
	var lines []string
	for _, assignment := range d.env {
		lines = append(lines, quoted(assignment))
	}
	if err := os.WriteFile(filepath.Join(d.dir, "env"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("writing the environment: %w", err)
	}
	return nil
}

// quoted is an assignment as a shell reads it.
func quoted(assignment string) string {
	variable, value, _ := strings.Cut(assignment, "=")
	return "export " + variable + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
