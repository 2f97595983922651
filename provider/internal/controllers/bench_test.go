package controllers_test

import (
	"context"
	"fmt"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/controllers/instant"
	"github.com/captf-toolkit/captf/provider/testenv/faults"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// BenchmarkMachinesBar takes machines to Ready with a runner that ends Jobs at once, against a real API server: how long, how
// much processor time of this process, the largest heap, and how many writes of which kind for each machine (design D11).
// CAPTF_BENCH_MACHINES is how many, 1000 by default.
func BenchmarkMachinesBar(b *testing.B) {
	count := 1000
	if s := os.Getenv("CAPTF_BENCH_MACHINES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatal(err)
		}
		count = n
	}
	for b.Loop() {
		machines(b, count)
	}
}

func machines(b *testing.B, count int) {
	b.StopTimer()
	ctx := b.Context()
	env, ns := tools.Environment(b), tools.Namespace(b)
	c := controllerstest.Client(b, env.Config())
	controllerstest.Prepare(ctx, b, c, ns)
	runner := &instant.Runner{Client: c, Clock: clock.RealClock{}}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { _ = runner.Run(run, ns) }()
	scheme, err := controllers.Scheme()
	if err != nil {
		b.Fatal(err)
	}
	f := faults.New()
	o := controllerstest.Options(ns)
	o.Workspace.ClusterMaxActiveJobs, o.Workspace.MaxActiveJobs = 200, 200
	o.Concurrency[contract.RoleMachine] = 10
	o.Wrap = func(c client.Client) client.Client { return f.Client(c, "cached") }
	o.WrapReader = func(r client.Reader) client.Reader { return f.Reader(r, scheme, "live") }
	stop := controllerstest.Start(b, env.Config(), o)
	defer stop()
	tc := controllerstest.Cluster(ctx, b, c, ns, "prod", controllerstest.TestImages)
	controllerstest.Await(ctx, b, c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	controllerstest.InfrastructureProvisioned(ctx, b, c, ns, "prod")
	f.Reset()
	before, cpu := f.Counts(), processorTime(b)
	peak := watchHeap(ctx)

	b.StartTimer()
	start := time.Now()
	var wg sync.WaitGroup
	work := make(chan int)
	for range 8 {
		wg.Go(func() {
			for i := range work {
				controllerstest.Machine(ctx, b, c, ns, "prod", fmt.Sprintf("m-%04d", i), false, controllerstest.TestImages)
			}
		})
	}
	for i := range count {
		work <- i
	}
	close(work)
	wg.Wait()
	for {
		list := &infrav1.TerraformMachineList{}
		if err := c.List(ctx, list, client.InNamespace(ns)); err != nil {
			b.Fatal(err)
		}
		ready := 0
		for i := range list.Items {
			if controllerstest.IsReady(&list.Items[i]) {
				ready++
			}
		}
		if ready == count {
			break
		}
		select {
		case <-ctx.Done():
			b.Fatalf("%d of %d machines are Ready", ready, count)
		case <-time.After(200 * time.Millisecond):
		}
	}
	b.StopTimer()
	wall := time.Since(start)

	counts, writes, live := f.Counts(), 0.0, 0.0
	keys := make([]faults.Key, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, z faults.Key) int { return counts[z] - counts[a] })
	for _, k := range keys {
		n := float64(counts[k]-before[k]) / float64(count)
		switch {
		case k.Verb.IsWrite():
			writes += n
			b.Logf("%6.2f a machine: %s %s %s", n, k.Verb, k.Kind.Kind, k.Subresource)
		case k.Client == "live":
			live += n
			b.Logf("%6.2f a machine: live %s %s", n, k.Verb, k.Kind.Kind)
		}
	}
	b.ReportMetric(wall.Seconds(), "s")
	b.ReportMetric((processorTime(b) - cpu).Seconds(), "cpu-s")
	b.ReportMetric(float64(peak())/(1<<20), "peak-heap-MiB")
	b.ReportMetric(writes, "writes/machine")
	b.ReportMetric(live, "live-reads/machine")
	b.ReportMetric(float64(runner.Jobs()-1)/float64(count), "jobs/machine")
	b.StartTimer() // b.Loop wants it to run
}

// processorTime is what this process has used.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// watchHeap samples the heap; the returned function ends that and returns the largest sample. It counts the instant runner
// and the test's own clients too, so it is an upper bound for a manager.
func watchHeap(ctx context.Context) func() uint64 {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan uint64, 1)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		peak := uint64(0)
		for {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-ctx.Done():
				done <- peak
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { cancel(); return <-done }
}

// BenchmarkNothingToDoBar is one pass over a machine to which nothing has happened; the bar is 2 ms (design D11).
func BenchmarkNothingToDoBar(b *testing.B) {
	ctx := b.Context()
	env, ns := tools.Environment(b), tools.Namespace(b)
	c := controllerstest.Client(b, env.Config())
	controllerstest.Prepare(ctx, b, c, ns)
	runner := &instant.Runner{Client: c, Clock: clock.RealClock{}}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { _ = runner.Run(run, ns) }()
	o := controllerstest.Options(ns)
	reconcilers := controllerstest.StartKeeping(b, env.Config(), o)
	tc := controllerstest.Cluster(ctx, b, c, ns, "prod", controllerstest.TestImages)
	controllerstest.Await(ctx, b, c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	controllerstest.InfrastructureProvisioned(ctx, b, c, ns, "prod")
	tm := controllerstest.Machine(ctx, b, c, ns, "prod", "node", false, controllerstest.TestImages)
	controllerstest.Await(ctx, b, c, tm, "Ready", controllerstest.IsReady[*infrav1.TerraformMachine])
	tp := controllerstest.MachinePool(ctx, b, c, ns, "prod", "pool", 2, controllerstest.TestImages)
	controllerstest.Await(ctx, b, c, tp, "Ready", controllerstest.IsReady[*infrav1.TerraformMachinePool])
	settle(b)
	for role, obj := range map[contract.Role]client.Object{contract.RoleCluster: tc, contract.RoleMachine: tm, contract.RoleMachinePool: tp} {
		b.Run(string(role), func(b *testing.B) {
			request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(obj)}
			for b.Loop() {
				if _, err := reconcilers[role].Reconcile(ctx, request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
