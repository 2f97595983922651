package realtest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// BenchmarkJobBar measures what a Job costs over the runtime alone (design D11): from the Job's creation to the runtime's
// first step, and the run with runner and broker against the same commands with a local state.
func BenchmarkJobBar(b *testing.B) {
	w := start(b)
	module := filepath.Join(node.images.Root, "modules", "noop", string(contract.RoleCluster))
	var toRuntime, run, bare time.Duration
	n := 0
	for b.Loop() {
		n++
		jobs, err := w.Watch(b.Context(), &batchv1.JobList{}, client.InNamespace(w.ns))
		if err != nil {
			b.Fatal(err)
		}
		name := "bench-" + time.Now().Format("150405.000")
		name = name[:len(name)-4] + name[len(name)-3:]
		created := make(chan time.Time, 1)
		go func() {
			<-jobs.ResultChan()
			created <- time.Now()
		}()
		tc := controllerstest.Cluster(b.Context(), b, w, w.ns, name, node.noop)
		controllerstest.Await(b.Context(), b, w, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
		began := <-created
		jobs.Stop()
		first := w.eventTime(tc.Status.LastRun.Job, "StepStarted")
		started, ended := w.eventTime(tc.Status.LastRun.Job, "RunStarted"), w.eventTime(tc.Status.LastRun.Job, "RunFinished")
		toRuntime += first.Sub(began)
		run += ended.Sub(started)

		var commands [][]string
		for _, step := range tc.Status.LastRun.Steps {
			commands = append(commands, bareCommand(b, step.Name))
		}
		dir := b.TempDir()
		if err := os.CopyFS(dir, os.DirFS(module)); err != nil {
			b.Fatal(err)
		}
		inputs := &corev1.Secret{}
		if err := w.Get(b.Context(), client.ObjectKey{Namespace: w.ns, Name: contract.AppliedSecretName(contract.RoleCluster, name)}, inputs); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "terraform.tfvars.json"), inputs.Data["terraform.tfvars.json"], 0o600); err != nil {
			b.Fatal(err)
		}
		at := time.Now()
		for _, args := range commands {
			cmd := exec.CommandContext(b.Context(), runtimetest.OpenTofu(b).Path, args...)
			cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1"}
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s: %s", args, err, out)
			}
		}
		bare += time.Since(at)
	}
	b.ReportMetric(toRuntime.Seconds()/float64(n), "s-to-first-step")
	b.ReportMetric(run.Seconds()/float64(n), "s/run")
	b.ReportMetric(run.Seconds()/bare.Seconds(), "run/bare")
}

// bareCommand is what the runner's step runs.
func bareCommand(b *testing.B, step string) []string {
	args, ok := map[string][]string{
		"init": {"init", "-no-color"}, "validate": {"validate", "-no-color"}, "plan": {"plan", "-out=plan", "-no-color"},
		"show-json": {"show", "-json", "plan"}, "apply": {"apply", "-auto-approve", "-no-color"},
	}[step]
	if !ok {
		b.Fatalf("the run has a step %s, which the benchmark does not know", step)
	}
	return args
}

// eventTime is when the first event of a Job with a reason happened.
func (w *world) eventTime(job, reason string) (at time.Time) {
	w.t.Helper()
	for deadline := time.Now().Add(controllerstest.Patience); ; <-time.After(50 * time.Millisecond) {
		list := &eventsv1.EventList{}
		if err := w.List(context.WithoutCancel(w.t.Context()), list, client.InNamespace(w.ns)); err != nil {
			w.t.Fatal(err)
		}
		for _, e := range list.Items {
			if e.Reason == reason && e.Related != nil && e.Related.Name == job && (at.IsZero() || e.EventTime.Time.Before(at)) {
				at = e.EventTime.Time
			}
		}
		if !at.IsZero() {
			return at
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("Job %s has no event %s", job, reason)
		}
	}
}
