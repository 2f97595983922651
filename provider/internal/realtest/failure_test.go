package realtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/job"
)

// applied is the condition that tells how the last apply went.
func applied(tc *infrav1.TerraformCluster) metav1.Condition {
	for _, c := range tc.Status.Conditions {
		if c.Type == infrav1.ApplyJobSucceededCondition {
			return c
		}
	}
	return metav1.Condition{}
}

// failed waits for the end of an apply with a reason, and checks what the object says about it.
func (w *world) failed(tc *infrav1.TerraformCluster, reason string, words ...string) {
	w.t.Helper()
	controllerstest.Await(w.t.Context(), w.t, w, tc, reason, func(tc *infrav1.TerraformCluster) bool { return applied(tc).Reason == reason })
	c := applied(tc)
	if c.Status != metav1.ConditionFalse {
		w.t.Errorf("the condition is %s", c.Status)
	}
	for _, word := range words {
		if !strings.Contains(c.Message, word) {
			w.t.Errorf("%q is not in the message:\n%s", word, c.Message)
		}
	}
}

// TestModuleFails takes modules that fail: at once, and in the middle.
func TestModuleFails(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "invalid")
	if err := overlay(dir, contract.RoleCluster, map[string]string{"bad.tf": "output \"bad\" {\n  value = terraform_data.missing.id\n}\n"}); err != nil {
		t.Fatal(err)
	}
	invalid, err := node.images.Module(ctx, node.base, contract.RoleCluster, dir, "", "test/invalid:v1")
	if err != nil {
		t.Fatal(err)
	}
	tc := controllerstest.Cluster(ctx, t, w, w.ns, "invalid", controllerstest.Images{Cluster: invalid.Tag})
	w.failed(tc, infrav1.ApplyFailedReason, "validate", "Reference to undeclared resource", tc.Name)
	if r := tc.Status.LastRun; r == nil || r.Error == nil || r.Error.Kind != infrav1.RunErrorStep || r.Error.Step != "validate" ||
		slices.ContainsFunc(r.Steps, func(s infrav1.RunStep) bool { return s.Name == "apply" }) {
		t.Errorf("the last run is %+v", tc.Status.LastRun)
	}

	// The next try waits for a minute, whatever else makes the object be looked at.
	w.clock.forward(30 * time.Second)
	w.poke(tc)
	w.cluster("good")
	if n := len(w.jobs("invalid", infrav1.OperationApply)); n != 1 {
		t.Errorf("the module was applied %d times before its wait was over", n)
	}
	w.clock.forward(35 * time.Second)
	w.poke(tc)
	first := tc.Status.LastRun.Job
	controllerstest.Await(ctx, t, w, tc, "tried again", func(tc *infrav1.TerraformCluster) bool { return tc.Status.LastRun.Job != first })

	// A resource that fails in the middle: what was there stays, and the message names it.
	images, err := slowImage()
	if err != nil {
		t.Fatal(err)
	}
	var broken atomic.Bool
	broken.Store(true)
	cloud := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			http.Error(answer, "no capacity", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(cloud.Close)
	fails := controllerstest.Cluster(ctx, t, w, w.ns, "fails", images)
	controllerstest.Await(ctx, t, w, fails, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	before := w.state("fails")
	base := fails.DeepCopy()
	setVariable(fails, "things", `{"a":"","b":"`+cloud.URL+`"}`)
	if err := w.Patch(ctx, fails, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	const address = `module.role.slow_thing.each["b"]`
	w.failed(fails, infrav1.ApplyFailedReason, "step apply", "The thing was not made", address)
	if e := fails.Status.LastRun.Error; e == nil || e.Kind != infrav1.RunErrorStep || e.Step != "apply" || len(e.Resources) != 1 || !strings.HasPrefix(e.Resources[0], address+": ") {
		t.Errorf("the error is %+v", e)
	}
	if s := w.state("fails"); s.ids["each[a]"] != before.ids["each[a]"] || s.ids["each[b]"] != "" || fails.Spec.ControlPlaneEndpoint == nil {
		t.Errorf("the state went from %+v to %+v", before, s)
	}
	broken.Store(false)
	w.clock.forward(time.Minute + 5*time.Second)
	w.poke(fails)
	controllerstest.Await(ctx, t, w, fails, "Ready again", func(tc *infrav1.TerraformCluster) bool {
		return controllerstest.IsReady(tc) && controllerstest.Applied(tc) && applied(tc).Status == metav1.ConditionTrue
	})
	if s := w.state("fails"); s.ids["each[a]"] != before.ids["each[a]"] || s.ids["each[b]"] == "" {
		t.Errorf("the state went from %+v to %+v", before, s)
	}
}

// TestImageFails takes an image that is not there until later, and one that is no module image.
func TestImageFails(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	none := controllerstest.Cluster(ctx, t, w, w.ns, "none", controllerstest.Images{Cluster: node.base.Tag})
	w.failed(none, infrav1.ImageInvalidReason, "/captf/module")
	if e := none.Status.LastRun.Error; e == nil || e.Kind != infrav1.RunErrorImageLayout {
		t.Errorf("the error is %+v", e)
	}

	repository := "test/late-" + w.ns + ":v1"
	late := controllerstest.Cluster(ctx, t, w, w.ns, "late", controllerstest.Images{Cluster: node.images.Registry.Host() + "/" + repository})
	controllerstest.Await(ctx, t, w, late, "applied", func(tc *infrav1.TerraformCluster) bool { return tc.Status.ActiveJob != nil })
	w.podWaits(late.Status.ActiveJob.Name)
	w.clock.forward(job.PullPatience + 30*time.Second)
	w.poke(late)
	w.failed(late, infrav1.ImagePullFailedReason, repository, "imagePullSecrets")
	if _, err := node.images.Module(ctx, node.base, contract.RoleCluster, filepath.Join(node.images.Root, "modules", "noop", "cluster"), "", repository); err != nil {
		t.Fatal(err)
	}
	controllerstest.Await(ctx, t, w, late, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	if n := len(w.jobs("late", infrav1.OperationApply)); n != 1 {
		t.Errorf("there were %d applies", n)
	}

	// What was never pulled made nothing: the Job ends with the object, and nothing is to be destroyed.
	never := controllerstest.Cluster(ctx, t, w, w.ns, "never", controllerstest.Images{Cluster: node.images.Registry.Host() + "/test/never-" + w.ns + ":v1"})
	controllerstest.Await(ctx, t, w, never, "applied", func(tc *infrav1.TerraformCluster) bool { return tc.Status.ActiveJob != nil })
	w.podWaits(never.Status.ActiveJob.Name)
	if err := w.Delete(ctx, never); err != nil {
		t.Fatal(err)
	}
	controllerstest.AwaitGone(ctx, t, w, never)
	if n := len(w.jobs("never", infrav1.OperationDestroy)); n != 0 {
		t.Errorf("there were %d destroys of nothing", n)
	}
}

// TestPausedBeforeStart pauses a Cluster whose Job is there and has not begun, as clusterctl does before it moves what it does
// not know of: nothing is run until the pause is over (B-896).
func TestPausedBeforeStart(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	repository := "test/halted-" + w.ns + ":v1"
	tc := controllerstest.Cluster(ctx, t, w, w.ns, "halted", controllerstest.Images{Cluster: node.images.Registry.Host() + "/" + repository})
	controllerstest.Await(ctx, t, w, tc, "applied", func(tc *infrav1.TerraformCluster) bool { return tc.Status.ActiveJob != nil })
	name := tc.Status.ActiveJob.Name
	w.podWaits(name)
	pause := func(paused bool) {
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "halted"}}
		patch := fmt.Sprintf(`{"spec":{"paused":%t}}`, paused)
		if err := w.Patch(ctx, cluster, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	pause(true)
	if _, err := node.images.Module(ctx, node.base, contract.RoleCluster, filepath.Join(node.images.Root, "modules", "noop", "cluster"), "", repository); err != nil {
		t.Fatal(err)
	}
	controllerstest.Await(ctx, t, w, tc, "interrupted", func(tc *infrav1.TerraformCluster) bool {
		return tc.Status.ActiveJob == nil && tc.Status.LastRun != nil && tc.Status.LastRun.Error != nil
	})
	if run := tc.Status.LastRun; run.Job != name || run.Error.Kind != infrav1.RunErrorInterrupted || len(run.Steps) != 0 ||
		!strings.Contains(run.Error.Summary, "Cluster halted is paused") {
		t.Errorf("the run was %+v, its error %+v", run, run.Error)
	}
	if tc.Status.ObservedStateSerial != 0 {
		t.Errorf("a state of serial %d was written", tc.Status.ObservedStateSerial)
	}
	pause(false)
	controllerstest.Await(ctx, t, w, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	if n := len(w.jobs("halted", infrav1.OperationApply)); n != 2 {
		t.Errorf("there were %d applies", n)
	}
	w.delete(tc)
}

// podWaits waits until the module's image of a Job's pod could not be pulled.
func (w *world) podWaits(name string) {
	w.t.Helper()
	for deadline := time.Now().Add(controllerstest.Patience); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		for _, pod := range w.pods(name) {
			for _, c := range pod.Status.ContainerStatuses {
				if s := c.State.Waiting; c.Name == job.SourceContainer && s != nil && strings.Contains(s.Reason, "Pull") {
					return
				}
			}
		}
	}
	w.t.Fatalf("the pod of Job %s does not wait for its image", name)
}

// TestDeadline lets a Job run into its deadline: the resource in flight is finished all the same.
func TestDeadline(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	images, err := slowImage()
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t)
	tc := controllerstest.Cluster(ctx, t, w, w.ns, "late", images)
	controllerstest.Await(ctx, t, w, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	base := tc.DeepCopy()
	setVariable(tc, "things", `{"a":"","b":"`+g.URL+`"}`)
	tc.Spec.Jobs = &infrav1.JobPolicy{ActiveDeadlineSeconds: 20, LockTimeoutSeconds: new(int32(5))}
	if err := w.Patch(ctx, tc, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	g.await(t)
	controllerstest.Await(ctx, t, w, tc, "applied", func(tc *infrav1.TerraformCluster) bool { return tc.Status.ActiveJob != nil })
	w.logged(w.pod(tc.Status.ActiveJob.Name), "Interrupt received")
	g.open()
	w.failed(tc, infrav1.JobDeadlineExceededReason, "deadline of 20 s", "activeDeadlineSeconds")
	if s := w.state("late"); s.ids["each[b]"] == "" || s.ids["after[0]"] != "" {
		t.Errorf("the state has %v", s.ids)
	}
}
