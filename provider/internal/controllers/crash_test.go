package controllers_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/controllers"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/controllers/instant"
	"github.com/captf-toolkit/captf/provider/internal/controllers/workspace"
	"github.com/captf-toolkit/captf/provider/testenv/faults"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// story is a life of a cluster, a machine and a pool, with everything that makes a manager write: first applies, applies of
// changed inputs, refreshes, and deletion.
type story struct {
	t      *testing.T
	c      client.WithWatch
	ns     string
	runner *instant.Runner
	// options are those of the controllers.
	options workspace.Options
	// clock is that of the controllers and of the runner.
	clock *controllerstest.Clock
}

func newStory(t *testing.T) *story {
	t.Helper()
	env, ns := tools.Environment(t), tools.Namespace(t)
	s := &story{t: t, c: controllerstest.Client(t, env.Config()), ns: ns, clock: &controllerstest.Clock{}, options: controllerstest.Options(ns).Workspace}
	controllerstest.Prepare(t.Context(), t, s.c, ns)
	controllerstest.TellEvents(t, s.c, ns)
	s.runner = &instant.Runner{Client: s.c, Clock: s.clock}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() { _ = s.runner.Run(ctx, ns) }()
	s.neverBack(ctx)
	return s
}

// neverBack watches the cluster: once its dependencies are there they stay, and a condition that says otherwise is an old one
// that a pass on an old version brought back.
func (s *story) neverBack(ctx context.Context) {
	w, err := s.c.Watch(ctx, &infrav1.TerraformClusterList{}, client.InNamespace(s.ns))
	if err != nil {
		s.t.Fatal(err)
	}
	back := make(chan string, 1)
	go func() {
		defer close(back)
		there := false
		for e := range w.ResultChan() {
			tc, ok := e.Object.(*infrav1.TerraformCluster)
			if !ok {
				continue
			}
			c := conditions.Get(tc, infrav1.DependenciesReadyCondition)
			switch {
			case c == nil:
			case c.Status == metav1.ConditionTrue:
				there = true
			case there && c.Reason != infrav1.OwnerNotFoundReason: // which no old version says: a test took the owner away
				back <- c.Reason
				return
			}
		}
	}()
	s.t.Cleanup(func() {
		w.Stop()
		if reason, wrong := <-back; wrong {
			s.t.Errorf("DependenciesReady went back to %s", reason)
		}
	})
}

// play plays the story and holds its end against what has to come of it, whatever went wrong on the way.
func (s *story) play() {
	t, c, ctx, ns := s.t, s.c, s.t.Context(), s.ns
	tc := controllerstest.Cluster(ctx, t, c, ns, "prod", controllerstest.TestImages)
	controllerstest.Await(ctx, t, c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	controllerstest.InfrastructureProvisioned(ctx, t, c, ns, "prod")
	tm := controllerstest.Machine(ctx, t, c, ns, "prod", "node", true, controllerstest.TestImages)
	tp := controllerstest.MachinePool(ctx, t, c, ns, "prod", "pool", 2, controllerstest.TestImages)
	controllerstest.Await(ctx, t, c, tm, "Ready", controllerstest.IsReady[*infrav1.TerraformMachine])
	controllerstest.Await(ctx, t, c, tp, "Ready", controllerstest.IsReady[*infrav1.TerraformMachinePool])

	base := tc.DeepCopy()
	tc.Spec.Variables = map[string]apiextensionsv1.JSON{"size": {Raw: []byte(`"large"`)}}
	if err := c.Patch(ctx, tc, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	generation := tc.Generation
	controllerstest.Await(ctx, t, c, tc, "applied again", func(tc *infrav1.TerraformCluster) bool {
		return tc.Status.ObservedGeneration >= generation && controllerstest.Applied(tc)
	})
	pool := &clusterv1.MachinePool{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(tp), pool); err != nil {
		t.Fatal(err)
	}
	poolBase := pool.DeepCopy()
	pool.Spec.Replicas = ptr.To[int32](3)
	if err := c.Patch(ctx, pool, client.MergeFrom(poolBase)); err != nil {
		t.Fatal(err)
	}
	controllerstest.Await(ctx, t, c, tp, "of three instances", func(tp *infrav1.TerraformMachinePool) bool {
		return len(tp.Spec.ProviderIDList) == 3 && deref(tp.Status.Replicas) == 3 && controllerstest.Applied(tp)
	})
	if want := "noop:///" + ns + "/node"; tm.Spec.ProviderID != want {
		t.Errorf("the machine's provider id is %q, want %q", tm.Spec.ProviderID, want)
	}

	for _, obj := range []client.Object{tc, tm, tp} {
		if err := c.Delete(ctx, obj); err != nil {
			t.Fatal(err)
		}
	}
	for _, obj := range []client.Object{tm, tp, tc} {
		controllerstest.AwaitGone(ctx, t, c, obj)
	}
	nothingLeft(ctx, t, c, ns, &corev1.SecretList{}, &coordinationv1.LeaseList{}, &corev1.ServiceAccountList{}, &rbacv1.RoleBindingList{})
	for what, n := range s.runner.Applies() {
		if n != 1 {
			t.Errorf("%s was applied %d times", what, n)
		}
	}
	if n := len(s.runner.Applies()); n != 5 {
		t.Errorf("there were applies of %d inputs, want 5: %v", n, s.runner.Applies())
	}
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// startFrozen is start, and returns the client that reads from the cache, to be frozen.
func (s *story) startFrozen(f *faults.Faults) func() *faults.Client {
	scheme, err := controllers.Scheme()
	if err != nil {
		s.t.Fatal(err)
	}
	var cached *faults.Client
	o := controllerstest.Options(s.ns)
	o.Wrap = func(c client.Client) client.Client {
		cached = f.Client(c, "cached")
		for object, by := range workspace.Indexes() {
			for name, keys := range by {
				if err := cached.IndexField(s.t.Context(), object, name, keys); err != nil {
					s.t.Fatal(err)
				}
			}
		}
		return cached
	}
	o.WrapReader = func(r client.Reader) client.Reader { return f.Reader(r, scheme, "live") }
	controllerstest.Start(s.t, tools.Environment(s.t).Config(), o)
	return func() *faults.Client { return cached }
}

// start runs the controllers with faults before the API server.
func (s *story) start(f *faults.Faults) (stop func()) {
	o := controllerstest.Options(s.ns)
	o.Workspace = s.options
	o.Clock = s.clock
	if f != nil {
		scheme, err := controllers.Scheme()
		if err != nil {
			s.t.Fatal(err)
		}
		o.Wrap = func(c client.Client) client.Client { return f.Client(c, "cached") }
		o.WrapReader = func(r client.Reader) client.Reader { return f.Reader(r, scheme, "live") }
	}
	return controllerstest.Start(s.t, tools.Environment(s.t).Config(), o)
}

// TestCrash breaks each write of a story, one a run: it fails before it reaches the API server, its answer is lost, or the
// manager dies right after it and another takes over. Whatever breaks, the story ends as it should, and no inputs are applied
// twice. A story costs seconds, so each way breaks some of the writes, spread over all of it; CAPTF_CRASH_STRIDE=1 breaks
// every one in every way (make crash).
func TestCrash(t *testing.T) {
	whole := newStory(t)
	f := faults.New()
	whole.start(f)
	whole.play()
	writes := 0
	for key, n := range f.Counts() {
		if key.Verb.IsWrite() {
			writes += n
		}
	}
	if t.Failed() {
		return
	}
	t.Logf("the story takes %d writes", writes)

	strides := map[string]int{"died": 6, "refused": 24, "lost": 24}
	if s := os.Getenv("CAPTF_CRASH_STRIDE"); s != "" {
		stride, err := strconv.Atoi(s)
		if err != nil || stride < 1 {
			t.Fatalf("CAPTF_CRASH_STRIDE is %q, not a number from 1", s)
		}
		strides = map[string]int{"died": stride, "refused": stride, "lost": stride}
	}
	for mode, stride := range strides {
		for n := 1; n <= writes; n += stride {
			t.Run(fmt.Sprintf("%s/%03d", mode, n), func(t *testing.T) {
				t.Parallel()
				s := newStory(t)
				f := faults.New()
				switch mode {
				case "refused":
					f.FailWrite(n, faults.Before, nil)
				case "lost":
					f.FailWrite(n, faults.After, nil)
				case "died":
					s.dieAt(f, n)
				}
				if mode != "died" {
					s.start(f)
				}
				s.play()
				// How many writes a story takes depends a little on how fast the machine is, so the last may not come.
				if f.Pending() && n <= writes*9/10 {
					t.Errorf("the story ended before its write %d of about %d: nothing was broken", n, writes)
				}
			})
		}
	}
}

// dieAt starts the controllers, lets them die after the n-th write, and starts others then.
func (s *story) dieAt(f *faults.Faults, n int) {
	cut := make(chan struct{})
	var once sync.Once
	f.CutAtWrite(n, faults.After, func() { once.Do(func() { close(cut) }) })
	stop := s.start(f)
	ctx := s.t.Context()
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-cut:
			stop()
			s.start(nil)
		case <-ctx.Done():
		}
	}()
	s.t.Cleanup(func() { <-done })
}
