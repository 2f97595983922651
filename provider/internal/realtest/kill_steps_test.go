package realtest_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/job"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// TestKillsAtEachStep kills a part of a run in each of its steps. Whatever is killed and when, what the state had it keeps,
// and the next run heals. Each step meets one of the parts; CAPTF_KILLS=all lets each meet every one (make crash).
func TestKillsAtEachStep(t *testing.T) {
	parts := []struct {
		name string
		kill func(w *world, pod types.NamespacedName, runtime processOf) error
	}{
		{"runtime", func(_ *world, _ types.NamespacedName, runtime processOf) error {
			return runtime.Signal(syscall.SIGKILL)
		}},
		{"runner", func(_ *world, pod types.NamespacedName, _ processOf) error {
			return node.kubelet.Kill(pod, job.SourceContainer)
		}},
		{"broker", func(_ *world, pod types.NamespacedName, _ processOf) error {
			return node.kubelet.Kill(pod, job.BrokerContainer)
		}},
		{"node", func(w *world, pod types.NamespacedName, _ processOf) error {
			return node.kubelet.Vanish(w.t.Context(), pod)
		}},
	}
	// The steps of an apply, and of a destroy, by the subcommand that the runtime is started with.
	applySteps, destroySteps := []string{"init", "validate", "plan", "show", "apply"}, []string{"init", "destroy"}
	images, err := func() (controllerstest.Images, error) { startNode(t); return slowImage() }()
	if err != nil {
		t.Fatal(err)
	}
	rounds := 1
	if os.Getenv("CAPTF_KILLS") == "all" {
		rounds = len(parts)
	}
	for round := range rounds {
		w := start(t)
		name := fmt.Sprintf("steps-%d", round)
		tc := controllerstest.Cluster(t.Context(), t, w, w.ns, name, images)
		controllerstest.Await(t.Context(), t, w, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
		things, ids := []string{`"a":""`}, w.state(name).ids
		for i, step := range applySteps {
			part := parts[(i+round)%len(parts)]
			things = append(things, fmt.Sprintf(`"s%d":""`, i))
			base := tc.DeepCopy()
			setVariable(tc, "things", "{"+strings.Join(things, ",")+"}")
			if err := w.Patch(t.Context(), tc, client.MergeFrom(base)); err != nil {
				t.Fatal(err)
			}
			w.killAt(tc, infrav1.OperationApply, step, part.name, part.kill)
			w.heal(tc, part.name+" killed in "+step, func() bool {
				return controllerstest.IsReady(tc) && controllerstest.Applied(tc) && tc.Status.ActiveJob == nil && tc.Status.ObservedGeneration == tc.Generation
			})
			s := w.state(name)
			for address, id := range ids {
				if s.ids[address] != id && address != "after[0]" {
					t.Errorf("%s killed in %s: %s was %s and is %s", part.name, step, address, id, s.ids[address])
				}
			}
			if s.ids[fmt.Sprintf("each[s%d]", i)] == "" {
				t.Errorf("%s killed in %s: the state lacks the new thing: %v", part.name, step, s.ids)
			}
			ids = s.ids
		}
		if err := w.Delete(t.Context(), tc); err != nil {
			t.Fatal(err)
		}
		for i, step := range destroySteps {
			part := parts[(i+round+len(applySteps))%len(parts)]
			w.killAt(tc, infrav1.OperationDestroy, step, part.name, part.kill)
			if i < len(destroySteps)-1 {
				w.heal(tc, part.name+" killed in "+step+" of destroy", func() bool { return w.running(tc, infrav1.OperationDestroy) != nil })
			}
		}
		w.heal(tc, "the destroy was killed", func() bool { return false })
		w.nothingLeft()
	}
}

// running is the Job of an operation that runs, nil if there is none.
func (w *world) running(tc *infrav1.TerraformCluster, op infrav1.Operation) *batchv1.Job {
	w.t.Helper()
	jobs := w.jobs(tc.Name, op)
	i := slices.IndexFunc(jobs, func(j batchv1.Job) bool { return len(j.Status.Conditions) == 0 && j.DeletionTimestamp.IsZero() })
	if i < 0 {
		return nil
	}
	return &jobs[i]
}

// killAt waits until the runtime of an object's Job is in a step, and kills a part of the pod.
func (w *world) killAt(tc *infrav1.TerraformCluster, op infrav1.Operation, step, part string, kill func(*world, types.NamespacedName, processOf) error) {
	w.t.Helper()
	for deadline := time.Now().Add(controllerstest.Patience); ; <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("no %s of %s came to its step %s", op, tc.Name, step)
		}
		job := w.running(tc, op)
		if job == nil {
			continue
		}
		for _, pod := range w.pods(job.Name) {
			runtime, ok := awaitStep(client.ObjectKeyFromObject(&pod), step, deadline)
			if !ok {
				continue
			}
			err := kill(w, client.ObjectKeyFromObject(&pod), runtime)
			switch long := step == string(infrav1.OperationApply) || step == string(infrav1.OperationDestroy); {
			case err != nil && long:
				w.t.Errorf("killing the %s in %s: %s", part, step, err)
			case err != nil:
				w.t.Logf("killing the %s in %s came too late: %s", part, step, err) // the step, or the pod, was over
			}
			return
		}
	}
}

// awaitStep waits for the process of the runtime that is in a step. It asks nobody else while the container runs: a step may be
// shorter than a request takes on a busy machine.
func awaitStep(pod types.NamespacedName, step string, deadline time.Time) (runtime processOf, ok bool) {
	for alive := time.Now(); time.Since(alive) < 300*time.Millisecond && time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		all, err := node.kubelet.Processes(pod, job.SourceContainer)
		if err != nil || len(all) == 0 {
			continue
		}
		alive = time.Now()
		i := slices.IndexFunc(all, func(p processOf) bool { return p.Args[0] == "/captf/runtime" && slices.Contains(p.Args, step) })
		if i >= 0 {
			return all[i], true
		}
	}
	return processOf{}, false
}

// heal lets time pass until an object is as it should be, or gone: a lock that nobody renews becomes stale, and what failed is
// due again.
func (w *world) heal(tc *infrav1.TerraformCluster, what string, healed func() bool) {
	w.t.Helper()
	lock := client.ObjectKey{Namespace: w.ns, Name: names.LockLease(contract.StateSuffix(contract.RoleCluster, w.ns, tc.Name))}
	for deadline := time.Now().Add(2 * controllerstest.Patience); ; <-time.After(time.Second) {
		switch err := w.Get(w.t.Context(), client.ObjectKeyFromObject(tc), tc); {
		case apierrors.IsNotFound(err):
			return
		case err != nil:
			w.t.Fatal(err)
		case healed():
			return
		case time.Now().After(deadline):
			w.t.Fatalf("%s: not healed: %+v", what, tc.Status)
		case w.running(tc, infrav1.OperationApply) != nil || w.running(tc, infrav1.OperationDestroy) != nil:
			continue
		}
		lease := &coordinationv1.Lease{}
		if err := w.Get(w.t.Context(), lock, lease); err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") != "" {
			w.backdate(tc.Name)
		}
		w.clock.forward(state.StaleAfter + 5*time.Second)
		w.poke(tc)
	}
}
