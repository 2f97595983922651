package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/lease"
	"github.com/captf-toolkit/captf/provider/testenv/faults"
)

// passes is how many passes the controllers of the three kinds have ended.
func passes(t testing.TB) (n float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			n += m.GetCounter().GetValue()
		}
	}
	return n
}

// series are those of a metric about the objects of a namespace, by their labels but the namespace, and their values. Counters are
// about no namespace: "".
func series(t testing.TB, name, namespace string) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			here := namespace == ""
			for _, l := range m.GetLabel() {
				if l.GetName() == "namespace" {
					here = l.GetValue() == namespace
					continue
				}
				labels = append(labels, l.GetValue())
			}
			if f.GetName() == name && here {
				out[strings.Join(labels, " ")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return out
}

// await waits until something is so.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	poll(t, what, 20*time.Millisecond, ok)
}

// nudge waits until something is so, and makes the controllers look at objects meanwhile: seldom enough for a pass to store what it
// has found before the next nudge, by which it would find the object changed.
func (s *story) nudge(what string, ok func() bool, objects ...client.Object) {
	s.t.Helper()
	poll(s.t, what, time.Second, func() bool {
		for _, obj := range objects {
			s.touch(obj)
		}
		return ok()
	})
}

// poll asks again and again whether something is so.
func poll(t testing.TB, what string, every time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(controllerstest.Patience)
	defer deadline.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("waited in vain for %s", what)
		case <-time.After(every):
		}
	}
}

// settle waits until the controllers have nothing to do: no pass in half a second.
func settle(t testing.TB) {
	t.Helper()
	last, since := passes(t), time.Now()
	await(t, "the controllers to come to rest", func() bool {
		if n := passes(t); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > 500*time.Millisecond
	})
}

// TestQuiet looks at objects to which nothing has happened: a pass over each writes nothing, and reads nothing past the
// caches (design D6, D11).
func TestQuiet(t *testing.T) {
	s := newStory(t)
	f := faults.New()
	s.start(f)
	objects := s.ready()
	jobs := &batchv1.JobList{}
	await(t, "the refresh of the pool to be recorded", func() bool {
		if err := s.c.List(t.Context(), jobs, client.InNamespace(s.ns)); err != nil {
			t.Fatal(err)
		}
		recorded := slices.ContainsFunc(jobs.Items, func(j batchv1.Job) bool { return j.Labels[infrav1.LabelOperation] == "refresh" })
		for _, j := range jobs.Items {
			recorded = recorded && j.Annotations[infrav1.AnnotationBookkept] != ""
		}
		return recorded
	})
	s.clock.Stop() // so that nothing becomes due on a slow machine
	settle(t)
	f.Reset()
	before := passes(t)
	for _, obj := range objects {
		if err := s.c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			t.Fatal(err)
		}
		base := obj.DeepCopyObject().(client.Object)
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["test.example/poke"] = "1"
		obj.SetAnnotations(annotations)
		if err := s.c.Patch(t.Context(), obj, client.MergeFrom(base)); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "a pass over each object", func() bool { return passes(t) >= before+float64(len(objects)) })
	settle(t)
	for _, call := range f.Calls() {
		if call.Verb.IsWrite() || call.Client == "live" {
			t.Errorf("a pass with nothing to do made a call: %s", call)
		}
	}
}

// ready makes a cluster, a machine and a pool, and waits until they are Ready.
func (s *story) ready() []client.Object {
	s.t.Helper()
	t, ctx := s.t, s.t.Context()
	tc := controllerstest.Cluster(ctx, t, s.c, s.ns, "prod", controllerstest.TestImages)
	controllerstest.Await(ctx, t, s.c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	controllerstest.InfrastructureProvisioned(ctx, t, s.c, s.ns, "prod")
	tm := controllerstest.Machine(ctx, t, s.c, s.ns, "prod", "node", true, controllerstest.TestImages)
	tp := controllerstest.MachinePool(ctx, t, s.c, s.ns, "prod", "pool", 2, controllerstest.TestImages)
	controllerstest.Await(ctx, t, s.c, tm, "Ready", controllerstest.IsReady[*infrav1.TerraformMachine])
	controllerstest.Await(ctx, t, s.c, tp, "Ready", controllerstest.IsReady[*infrav1.TerraformMachinePool])
	return []client.Object{tc, tm, tp}
}

// oneAtATime watches Jobs and reports an object for which two ran at once.
func (s *story) oneAtATime() {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(cancel)
	w, err := s.c.Watch(ctx, &batchv1.JobList{}, client.InNamespace(s.ns))
	if err != nil {
		s.t.Fatal(err)
	}
	var mu sync.Mutex
	var wrong []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		running := map[string]string{}
		for e := range w.ResultChan() {
			job, ok := e.Object.(*batchv1.Job)
			if !ok {
				continue
			}
			owner := job.Labels[infrav1.LabelOwnerKind] + "/" + job.Labels[infrav1.LabelOwnerName]
			if lease.Finished(job) || e.Type == "DELETED" {
				if running[owner] == job.Name {
					delete(running, owner)
				}
				continue
			}
			if other := running[owner]; other != "" && other != job.Name {
				mu.Lock()
				wrong = append(wrong, fmt.Sprintf("%s: %s beside %s", owner, job.Name, other))
				mu.Unlock()
			}
			running[owner] = job.Name
		}
	}()
	s.t.Cleanup(func() {
		w.Stop()
		<-done
		mu.Lock()
		defer mu.Unlock()
		if len(wrong) > 0 {
			slices.Sort(wrong)
			s.t.Errorf("two Jobs of one object ran at once:\n%s", strings.Join(wrong, "\n"))
		}
	})
}

// TestTwoManagers runs two managers at once, which no leader election would allow: they never run two Jobs of one object, and
// apply no inputs twice.
func TestTwoManagers(t *testing.T) {
	s := newStory(t)
	s.oneAtATime()
	s.start(nil)
	s.start(nil)
	s.play()
}

// TestStaleJobs lets the cache of Jobs stand still from before the first Job until after its end, and again around the
// destroy: no second Job starts, and the object is not let go.
func TestStaleJobs(t *testing.T) {
	s := newStory(t)
	s.oneAtATime()
	f := faults.New()
	cached := s.startFrozen(f)
	ctx := t.Context()

	// A cache that has not started cannot be read.
	await(t, "the cache to start", func() bool { return cached().Freeze(ctx, &batchv1.JobList{}) == nil })
	tc := controllerstest.Cluster(ctx, t, s.c, s.ns, "prod", controllerstest.TestImages)
	await(t, "the apply to end", func() bool { return s.runner.Jobs() == 1 })
	seen := passes(t)
	await(t, "a pass that sees no Job", func() bool { return passes(t) > seen })
	if n := s.runner.Jobs(); n != 1 {
		t.Errorf("%d Jobs ran while the cache stood still", n)
	}
	cached().Thaw()
	controllerstest.Await(ctx, t, s.c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])

	if err := cached().Freeze(ctx, &batchv1.JobList{}); err != nil {
		t.Fatal(err)
	}
	release := s.runner.HoldOperation(infrav1.OperationDestroy)
	if err := s.c.Delete(ctx, tc); err != nil {
		t.Fatal(err)
	}
	jobs := &batchv1.JobList{}
	await(t, "the destroy to start", func() bool {
		if err := s.c.List(ctx, jobs, client.InNamespace(s.ns), client.MatchingLabels{infrav1.LabelOperation: string(infrav1.OperationDestroy)}); err != nil {
			t.Fatal(err)
		}
		return len(jobs.Items) == 1
	})
	seen = passes(t)
	await(t, "a pass that sees no Job", func() bool { return passes(t) > seen })
	if err := s.c.Get(ctx, client.ObjectKeyFromObject(tc), tc); err != nil {
		t.Errorf("the object is gone while its destroy runs: %s", err)
	}
	release()
	cached().Thaw()
	controllerstest.AwaitGone(ctx, t, s.c, tc)
	for what, n := range s.runner.Applies() {
		if n != 1 {
			t.Errorf("%s was applied %d times", what, n)
		}
	}
}
