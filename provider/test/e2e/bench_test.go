package e2e_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/test/e2e/management"
	"github.com/captf-toolkit/captf/provider/testenv/deploy"
)

// BenchmarkCluster creates a cluster with three control planes and two workers, and says where the time goes until all of it
// is available. At each moment the time is that of the first of these that goes on: a command of OpenTofu; a Job, before and
// after its commands; the provider's controller, from the moment that it could start a Job until it has, and from the end of a
// Job until its object tells the result. The rest is Cluster API's, with the machines' boot, which takes no time here.
//
// What several do at a time counts once, so the parts add up to the whole.
func BenchmarkCluster(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		w := start(b, "timed")
		objects := w.generate("")
		w.set(objects, "TerraformCluster", w.endpoint(), "spec", "variables")
		w.set(objects, "KubeadmControlPlane", int64(3), "spec", "replicas")
		w.set(objects, "MachineDeployment", int64(2), "spec", "replicas")
		l := w.follow()
		b.StartTimer()
		began := time.Now()
		w.create(objects...)
		w.awaitMachines(want{3, 2, 0, oldVersion})
		w.awaitAvailable()
		wall := time.Since(began)
		b.StopTimer()
		parts := l.split(began, began.Add(wall))
		b.ReportMetric(wall.Seconds(), "s")
		for i, name := range partNames {
			b.ReportMetric(parts[i].Seconds(), name+"-s")
		}
		b.Log(l.means())
		w.deleteCluster()
		b.StartTimer() // b.Loop wants it to run
	}
}

// Parts of the time, those first that count first.
const (
	inRuntime = iota
	inJob
	inController
	inCAPI
	partCount
)

var partNames = [partCount]string{"runtime", "job-start", "controller", "capi"}

// span is a piece of time that is spent in a part.
type span struct {
	part     int
	from, to time.Time
}

// run is what was seen of a Job: when it was created, when the container with the module ended, when the Job had, and when its
// object told the result; and how long its commands took.
type run struct {
	operation                       infrav1.Operation
	ready, created, ran, done, told time.Time
	took                            time.Duration
}

// timeline notes when things are seen. Times of the objects themselves are whole seconds.
type timeline struct {
	mu   sync.Mutex
	jobs map[string]*run
	// ready is when a Job could be started for an object, by kind and name.
	ready map[string]time.Time
}

// follow watches what belongs to the Cluster until the benchmark ends.
func (w *world) follow() *timeline {
	w.t.Helper()
	l := &timeline{jobs: map[string]*run{}, ready: map[string]time.Time{}}
	for _, list := range []client.ObjectList{
		&batchv1.JobList{}, &corev1.PodList{}, &clusterv1.MachineList{}, &infrav1.TerraformClusterList{}, &infrav1.TerraformMachineList{},
	} {
		events, err := w.Watch(w.t.Context(), list, client.InNamespace(w.ns))
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(events.Stop)
		go func() {
			for e := range events.ResultChan() {
				l.see(e.Object, time.Now())
			}
		}()
	}
	return l
}

func (l *timeline) job(name string) *run {
	if l.jobs[name] == nil {
		l.jobs[name] = &run{}
	}
	return l.jobs[name]
}

// first notes a time that is not noted yet.
func first(at *time.Time, now time.Time) {
	if at.IsZero() {
		*at = now
	}
}

func (l *timeline) see(object any, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch o := object.(type) {
	case *batchv1.Job:
		r := l.job(o.Name)
		first(&r.created, now)
		r.operation = infrav1.Operation(o.Labels[infrav1.LabelOperation])
		// Only the first Job of an object waits for nothing but the controller.
		of := strings.ToLower(o.Labels[infrav1.LabelOwnerKind]) + "/" + o.Labels[infrav1.LabelOwnerName]
		if at, ok := l.ready[of]; ok {
			first(&r.ready, at)
			delete(l.ready, of)
		}
		if len(o.Status.Conditions) > 0 {
			first(&r.done, now)
		}
	case *corev1.Pod:
		for _, c := range o.Status.ContainerStatuses {
			if c.State.Terminated != nil {
				first(&l.job(o.Labels[batchv1.JobNameLabel]).ran, now)
			}
		}
	case *clusterv1.Machine:
		of := "terraformmachine/" + o.Spec.InfrastructureRef.Name
		if _, seen := l.ready[of]; !seen && o.Spec.Bootstrap.DataSecretName != nil && o.Status.Phase != "" && !l.started(o.Spec.InfrastructureRef.Name) {
			l.ready[of] = now
		}
	case *infrav1.TerraformCluster:
		of := "terraformcluster/" + o.Name
		if _, seen := l.ready[of]; !seen && len(o.OwnerReferences) > 0 && o.Status.ActiveJob == nil && o.Status.LastRun == nil {
			l.ready[of] = now
		}
		l.told(o.Status.LastRun, now)
	case *infrav1.TerraformMachine:
		l.told(o.Status.LastRun, now)
	}
}

// started tells that a machine has had a Job.
func (l *timeline) started(machine string) bool {
	for name := range l.jobs {
		if strings.HasPrefix(name, "captf-m-"+machine+"-") {
			return true
		}
	}
	return false
}

// told notes that an object tells a result.
func (l *timeline) told(last *infrav1.LastRun, now time.Time) {
	if last == nil {
		return
	}
	r := l.job(last.Job)
	if !r.told.IsZero() {
		return
	}
	r.told = now
	for _, s := range last.Steps {
		if s.DurationMilliseconds != nil {
			r.took += time.Duration(*s.DurationMilliseconds) * time.Millisecond
		}
	}
}

// split divides a time among the parts.
func (l *timeline) split(from, to time.Time) (parts [partCount]time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	spans := []span{{inCAPI, from, to}}
	for _, r := range l.jobs {
		if r.told.IsZero() {
			continue // it runs still, or what it was for was there before
		}
		spans = append(spans, span{inRuntime, r.ran.Add(-r.took), r.ran}, span{inJob, r.created, r.done}, span{inController, r.done, r.told})
		if !r.ready.IsZero() {
			spans = append(spans, span{inController, r.ready, r.created})
		}
	}
	var edges []time.Time
	for _, s := range spans {
		edges = append(edges, s.from, s.to)
	}
	slices.SortFunc(edges, time.Time.Compare)
	for i, at := range edges[:len(edges)-1] {
		if at.Before(from) || !at.Before(to) {
			continue
		}
		part := inCAPI
		for _, s := range spans {
			if !at.Before(s.from) && at.Before(s.to) {
				part = min(part, s.part)
			}
		}
		parts[part] += edges[i+1].Sub(at)
	}
	return parts
}

// means says how long the pieces of a Job took.
func (l *timeline) means() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.jobs)) {
		r := l.jobs[name]
		if r.told.IsZero() {
			continue
		}
		began := r.ran.Add(-r.took)
		fmt.Fprintf(&out, "%s: ", name)
		if !r.ready.IsZero() {
			fmt.Fprintf(&out, "created after %d ms, ", r.created.Sub(r.ready).Milliseconds())
		}
		fmt.Fprintf(&out, "start %d ms, commands %d ms, end %d ms, told after %d ms\n", began.Sub(r.created).Milliseconds(), r.took.Milliseconds(),
			r.done.Sub(r.ran).Milliseconds(), r.told.Sub(r.done).Milliseconds())
	}
	return out.String()
}

// BenchmarkClusters creates clusters of one control plane and one worker, all at once: how long until all are available, and
// what that takes of the provider's manager. CAPTF_BENCH_CLUSTERS is how many, 50 by default.
func BenchmarkClusters(b *testing.B) {
	count := 50
	if s := os.Getenv("CAPTF_BENCH_CLUSTERS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatal(err)
		}
		count = n
	}
	for b.Loop() {
		clusters(b, count)
	}
}

func clusters(b *testing.B, count int) {
	b.StopTimer()
	var all []*world
	create := map[*world]func(){}
	for i := range count {
		w := start(b, fmt.Sprintf("many-%d", i))
		objects := w.generate("")
		w.set(objects, "TerraformCluster", w.endpoint(), "spec", "variables")
		create[w] = func() { w.create(objects...) }
		all = append(all, w)
	}
	usage := all[0].manager()
	before := usage()
	peak := before["process_resident_memory_bytes"]

	b.StartTimer()
	began := time.Now()
	for _, w := range all {
		create[w]()
	}
	created := time.Since(began)
	for _, w := range all {
		w.awaitMachines(want{1, 1, 0, oldVersion})
		w.awaitAvailable()
		peak = max(peak, usage()["process_resident_memory_bytes"])
	}
	wall := time.Since(began)
	b.StopTimer()

	after := usage()
	per := func(name string) float64 { return (after[name] - before[name]) / float64(count) }
	for _, name := range slices.Sorted(maps.Keys(after)) {
		b.Logf("%-40s %12.1f a cluster", name, per(name))
	}
	var took []time.Duration
	for _, w := range all {
		c := w.awaitAvailable()
		for _, condition := range c.Status.Conditions {
			if condition.Type == clusterv1.AvailableCondition {
				took = append(took, condition.LastTransitionTime.Sub(c.CreationTimestamp.Time))
			}
		}
	}
	slices.Sort(took)
	b.Logf("created within %s; available after %s to %s, the median is %s", created.Round(time.Millisecond), took[0], took[len(took)-1], took[len(took)/2])
	b.ReportMetric(wall.Seconds(), "s")
	b.ReportMetric(after["process_cpu_seconds_total"]-before["process_cpu_seconds_total"], "cpu-s")
	b.ReportMetric(peak/(1<<20), "MiB")
	b.ReportMetric(per("rest_client_requests_total"), "calls/cluster")
	b.StartTimer() // b.Loop wants it to run
}

// methodOf finds the method in the labels of a series.
var methodOf = regexp.MustCompile(`method="([A-Z]+)"`)

// manager returns what reads the metrics of the provider's manager: sums over the labels, and calls of the API also by method.
func (w *world) manager() func() map[string]float64 {
	w.t.Helper()
	ctx := w.t.Context()
	pods := &corev1.PodList{}
	if err := w.List(ctx, pods, client.InNamespace(management.Namespace)); err != nil {
		w.t.Fatal(err)
	}
	port := int32(0)
	for i := range pods.Items {
		for _, p := range pods.Items[i].Spec.Containers[0].Ports {
			if p.Name == deploy.MetricsPort {
				port = p.ContainerPort
			}
		}
	}
	config := w.reader(ctx)
	config.Host, config.TLSClientConfig = fmt.Sprintf("https://127.0.0.1:%d", port), rest.TLSClientConfig{Insecure: true}
	of, err := rest.HTTPClientFor(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return func() map[string]float64 {
		w.t.Helper()
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/metrics", nil)
		if err != nil {
			w.t.Fatal(err)
		}
		answer, err := of.Do(q)
		if err != nil {
			w.t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			w.t.Fatalf("reading metrics: %s %v", answer.Status, err)
		}
		out := map[string]float64{}
		for line := range strings.Lines(string(text)) {
			name, _, _ := strings.Cut(strings.SplitN(line, " ", 2)[0], "{")
			switch name {
			case "process_cpu_seconds_total", "process_resident_memory_bytes", "rest_client_requests_total", "controller_runtime_reconcile_total":
			default:
				continue
			}
			fields := strings.Fields(line)
			value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			if err != nil {
				w.t.Fatal(err)
			}
			out[name] += value
			if m := methodOf.FindStringSubmatch(line); m != nil {
				out[name+" "+m[1]] += value
			}
		}
		return out
	}
}

// reader is the configuration of a client that may read metrics.
func (w *world) reader(ctx context.Context) *rest.Config {
	w.t.Helper()
	name := metav1.ObjectMeta{Name: w.ns + "-metrics"}
	for _, o := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: name,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.ns, Name: "default"}},
		},
	} {
		if err := w.Create(ctx, o); err != nil {
			w.t.Fatal(err)
		}
	}
	config, err := w.on.Env.ServiceAccountConfig(ctx, w.ns, "default")
	if err != nil {
		w.t.Fatal(err)
	}
	return config
}
