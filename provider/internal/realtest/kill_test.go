package realtest_test

import (
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/job"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// TestKills kills each part of a run while a resource is being made: what the state had it keeps, no two runs hold the
// lock, and the next run heals.
func TestKills(t *testing.T) {
	for _, c := range []struct {
		name string
		kill func(w *world, pod *corev1.Pod)
		// finishes tells that the run goes on nevertheless, stops that it ends in order: the resource in flight is stored.
		finishes, stops bool
		// breaks tells that the next run has to break the lock.
		breaks bool
		kind   infrav1.RunErrorKind
	}{
		{name: "runtime", kind: infrav1.RunErrorStep, kill: func(w *world, pod *corev1.Pod) {
			all, err := node.kubelet.Processes(client.ObjectKeyFromObject(pod), job.SourceContainer)
			if err != nil {
				w.t.Fatal(err)
			}
			i := slices.IndexFunc(all, func(p processOf) bool { return p.Args[0] == "/captf/runtime" && slices.Contains(p.Args, "apply") })
			if i < 0 {
				w.t.Fatalf("the runtime is not among %v", all)
			}
			if err := all[i].Signal(syscall.SIGKILL); err != nil {
				w.t.Fatal(err)
			}
		}},
		{name: "runner", breaks: true, kill: func(w *world, pod *corev1.Pod) {
			if err := node.kubelet.Kill(client.ObjectKeyFromObject(pod), job.SourceContainer); err != nil {
				w.t.Fatal(err)
			}
		}},
		{name: "broker", finishes: true, kill: func(w *world, pod *corev1.Pod) {
			if err := node.kubelet.Kill(client.ObjectKeyFromObject(pod), job.BrokerContainer); err != nil {
				w.t.Fatal(err)
			}
			for {
				if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
					w.t.Fatal(err)
				}
				if s := pod.Status.InitContainerStatuses; len(s) == 2 && s[1].RestartCount == 1 && s[1].State.Running != nil {
					return
				}
				<-time.After(50 * time.Millisecond)
			}
		}},
		{name: "node", breaks: true, kill: func(w *world, pod *corev1.Pod) {
			if err := node.kubelet.Vanish(w.t.Context(), client.ObjectKeyFromObject(pod)); err != nil {
				w.t.Fatal(err)
			}
		}},
		{name: "eviction", stops: true, kind: infrav1.RunErrorInterrupted, kill: func(w *world, pod *corev1.Pod) {
			if err := w.Delete(w.t.Context(), pod); err != nil {
				w.t.Fatal(err)
			}
			w.logged(pod, "Interrupt received")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := start(t)
			ctx := t.Context()
			g := newGate(t)
			tc, pod := w.slowCluster(c.name, "b", g)
			before, first := w.state(c.name), tc.Status.ActiveJob.Name
			locks := w.watchLock(c.name)
			c.kill(w, pod)
			if c.finishes || c.stops {
				g.open()
			}
			if !c.finishes {
				controllerstest.Await(ctx, t, w, tc, "recorded", func(tc *infrav1.TerraformCluster) bool {
					return tc.Status.LastRun != nil && tc.Status.LastRun.Job == first
				})
				if e := tc.Status.LastRun.Error; c.kind != "" && (e == nil || e.Kind != c.kind || e.Step != "apply") || c.kind == "" && e != nil {
					t.Errorf("the error is %+v, want %q", e, c.kind)
				}
				s := w.state(c.name)
				if s.ids["each[a]"] != before.ids["each[a]"] || s.serial < before.serial {
					t.Errorf("the state went from %+v to %+v", before, s)
				}
				if _, made := s.ids["each[b]"]; made != c.stops {
					t.Errorf("the resource in flight is stored: %v, want %v", made, c.stops)
				}
				if _, begun := s.ids["after[0]"]; begun && c.stops {
					t.Error("another resource was begun after the stop")
				}
				before.ids["each[b]"] = s.ids["each[b]"]
			}
			if c.breaks {
				if holder, _ := locks.now(); holder == "" {
					t.Error("the lock of a run that was killed is free")
				}
			}
			g.open()
			if c.breaks {
				w.backdate(c.name)
			}
			if !c.finishes && !c.stops {
				w.clock.forward(state.StaleAfter + 5*time.Second) // and with it the wait after a failure
				w.poke(tc)
			}
			controllerstest.Await(ctx, t, w, tc, "healed", func(tc *infrav1.TerraformCluster) bool {
				return controllerstest.IsReady(tc) && controllerstest.Applied(tc) && tc.Status.ActiveJob == nil && tc.Status.LastRun != nil && tc.Status.LastRun.Error == nil
			})
			s := w.state(c.name)
			if s.ids["each[a]"] != before.ids["each[a]"] || s.ids["each[b]"] == "" || s.ids["after[0]"] == "" {
				t.Errorf("the state went from %+v to %+v", before, s)
			}
			if c.stops && s.ids["each[b]"] != before.ids["each[b]"] {
				t.Error("the resource that was finished was made once more")
			}
			w.forced(c.name, first, c.breaks, c.finishes)
			if holder, _ := locks.now(); holder != "" {
				t.Errorf("the lock is held by %s", holder)
			}
			for _, problem := range locks.problems() {
				t.Error(problem)
			}
		})
	}
}

// forced checks how many applies there were, and whether the last one broke the lock.
func (w *world) forced(name, first string, breaks, finishes bool) {
	w.t.Helper()
	jobs := w.jobs(name, infrav1.OperationApply)
	want := 3
	if finishes {
		want = 2
	}
	if len(jobs) != want {
		w.t.Errorf("there were %d applies, want %d", len(jobs), want)
	}
	for i := range jobs {
		forced := slices.ContainsFunc(jobs[i].Spec.Template.Spec.Containers[0].Args, func(a string) bool { return strings.HasPrefix(a, "--force-unlock=") })
		last := jobs[i].CreationTimestamp.Time.Equal(newest(jobs)) && jobs[i].Name != first
		if forced != (breaks && last) {
			w.t.Errorf("Job %s breaks the lock: %v", jobs[i].Name, forced)
		}
	}
}

// backdate makes the lock of a cluster's state one that was last renewed long ago. The manager and the broker of the next
// run both look at that before they break it.
func (w *world) backdate(name string) {
	w.t.Helper()
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: w.ns, Name: names.LockLease(contract.StateSuffix(contract.RoleCluster, w.ns, name))}
	if err := w.Get(w.t.Context(), key, lease); err != nil {
		w.t.Fatal(err)
	}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-state.StaleAfter - 5*time.Second)}
	if err := w.Update(w.t.Context(), lease); err != nil {
		w.t.Fatal(err)
	}
}

// lockWatch follows who holds the lock of a state.
type lockWatch struct {
	mu      sync.Mutex
	holder  string
	changes int
	wrong   []string
}

func (l *lockWatch) now() (string, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder, l.changes
}

func (l *lockWatch) problems() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong
}

// watchLock watches the lock of a cluster's state until the test ends. A lock never goes from one holder to another without
// having been free.
func (w *world) watchLock(name string) *lockWatch {
	w.t.Helper()
	lease := names.LockLease(contract.StateSuffix(contract.RoleCluster, w.ns, name))
	events, err := w.Watch(w.t.Context(), &coordinationv1.LeaseList{}, client.InNamespace(w.ns), client.MatchingFields{"metadata.name": lease})
	if err != nil {
		w.t.Fatal(err)
	}
	l := &lockWatch{}
	seen, first := make(chan struct{}), sync.Once{}
	go func() {
		defer events.Stop()
		for e := range events.ResultChan() {
			now, ok := e.Object.(*coordinationv1.Lease)
			if !ok {
				continue
			}
			l.mu.Lock()
			holder := ptr.Deref(now.Spec.HolderIdentity, "")
			if holder != l.holder {
				if holder != "" && l.holder != "" {
					l.wrong = append(l.wrong, "the lock went from "+l.holder+" to "+holder)
				}
				l.holder = holder
				l.changes++
			}
			l.mu.Unlock()
			first.Do(func() { close(seen) })
		}
	}()
	select {
	case <-seen:
	case <-time.After(controllerstest.Patience):
		w.t.Fatal("the lock is not there")
	}
	return l
}
