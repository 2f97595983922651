package kubelet_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf-toolkit/captf/provider/testenv/kubelet"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func touch(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, key types.NamespacedName, grace *int64) {
	t.Helper()
	err := tools.Environment(t).Clients().CoreV1().Pods(key.Namespace).Delete(t.Context(), key.Name, metav1.DeleteOptions{GracePeriodSeconds: grace})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDelete: SIGTERM, time to end, and sidecars afterwards.
func TestDelete(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	shared := corev1.VolumeMount{Name: "shared", MountPath: "/shared"}
	p := podOf(mounted(tool("main", "term 0 300ms", "echo ready", "forever"), shared))
	p.Spec.InitContainers = []corev1.Container{sidecar(mounted(tool("beside", "term 0", "forever"), shared))}
	p.Spec.Volumes = []corev1.Volume{emptyDir("shared")}
	key := create(t, ns, p)
	logged(t, key, "main", "ready")
	until(t, key, "it to run", running)
	remove(t, key, nil)
	var last *corev1.Pod
	until(t, key, "it to be gone", func(p *corev1.Pod) bool {
		if p != nil {
			last = p
		}
		return p == nil
	})
	for _, c := range []string{"main", "beside"} {
		if text := output(t, key, c); !strings.Contains(text, "got TERM") {
			t.Errorf("%s: %s", c, text)
		}
		if s := status(last, c).State.Terminated; s == nil || s.ExitCode != 0 {
			t.Errorf("%s is last seen as %s", c, describe(last))
		}
	}
}

// TestGraceEnds: SIGKILL for what does not end, with all that it started; and a second deletion that is in more haste.
func TestGraceEnds(t *testing.T) {
	t.Parallel()
	k, ns := start(t)
	p := podOf(tool("main", "ignore", "spawn", "echo ready", "forever"))
	hour, second := int64(3600), int64(1)
	p.Spec.TerminationGracePeriodSeconds = &hour
	key := create(t, ns, p)
	logged(t, key, "main", "ready")
	until(t, key, "it to run", running)
	all := processes(t, k, key, 2)
	remove(t, key, nil)
	until(t, key, "its deletion", func(p *corev1.Pod) bool { return p != nil && p.DeletionTimestamp != nil })
	remove(t, key, &second)
	until(t, key, "it to be gone", isGone)
	for _, p := range all {
		if err := p.Signal(0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %v runs on: %v", p, err)
		}
	}
}

// TestDeletePending: a pod that waits for a Secret can be deleted.
func TestDeletePending(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	p := podOf(tool("main", "echo never"))
	p.Spec.Volumes = []corev1.Volume{{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none"}}}}
	key := create(t, ns, p)
	until(t, key, "ContainerCreating", waitingFor("main", "ContainerCreating"))
	remove(t, key, nil)
	until(t, key, "it to be gone", isGone)
}

// TestForceDelete: what is no longer in the API does not run.
func TestForceDelete(t *testing.T) {
	t.Parallel()
	k, ns := start(t)
	key := create(t, ns, podOf(tool("main", "echo ready", "forever")))
	logged(t, key, "main", "ready")
	all := processes(t, k, key, 1)
	now := int64(0)
	remove(t, key, &now)
	for deadline := time.Now().Add(patience); all[0].Signal(0) == nil; <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it runs on")
		}
	}
	if err := k.Kill(key, "main"); !errors.Is(err, kubelet.ErrNotRunning) {
		t.Errorf("killing what does not run: %v", err)
	}
	if err := k.Kill(types.NamespacedName{Namespace: ns, Name: "other"}, "main"); !errors.Is(err, kubelet.ErrNotRunning) {
		t.Errorf("killing what never ran: %v", err)
	}
}

// TestVanish leaves the status as it was, marks the pod failed, and removes it.
func TestVanish(t *testing.T) {
	t.Parallel()
	k, ns := start(t)
	p := podOf(tool("main", "echo ready", "spawn", "forever"))
	p.Finalizers = []string{"test.example/keep"}
	key := create(t, ns, p)
	logged(t, key, "main", "ready")
	until(t, key, "it to run", running)
	all := processes(t, k, key, 2)
	if err := k.Vanish(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if err := p.Signal(0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %v runs on: %v", p, err)
		}
	}
	got := until(t, key, "its deletion", func(p *corev1.Pod) bool { return p != nil && p.DeletionTimestamp != nil })
	disrupted := slices.ContainsFunc(got.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
	if got.Status.Phase != corev1.PodFailed || !disrupted || status(got, "main").State.Running == nil {
		t.Errorf("the pod is %s, with %v", describe(got), got.Status.Conditions)
	}
	got.Finalizers = nil
	if _, err := tools.Environment(t).Clients().CoreV1().Pods(ns).Update(t.Context(), got, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, key, "it to be gone", isGone)
	if text := output(t, key, "main"); !strings.Contains(text, "ready") {
		t.Errorf("its log is gone: %q", text)
	}
}

// TestProcesses: signals reach one process of a container.
func TestProcesses(t *testing.T) {
	t.Parallel()
	k, ns := start(t)
	key := create(t, ns, podOf(tool("main", "term 4", "spawn", "echo ready", "pid", "forever")))
	logged(t, key, "main", "ready")
	all := processes(t, k, key, 2)
	if got := all[1].Args; !slices.Equal(got, []string{"/proc/self/exe", "forever"}) {
		t.Errorf("the second process is %q", got)
	}
	if err := all[1].Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantLines(t, output(t, key, "main"), "pid 1")
	if err := k.Signal(key, "main", syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	got := until(t, key, "its end", finished)
	if code := status(got, "main").State.Terminated.ExitCode; code != 4 {
		t.Errorf("got the exit code %d, want 4", code)
	}
}

// processes waits until a container has so many processes.
func processes(t *testing.T, k *kubelet.Kubelet, key types.NamespacedName, want int) []kubelet.Process {
	t.Helper()
	if !k.Isolation().Namespaces {
		t.Skip(k.Isolation())
	}
	for deadline := time.Now().Add(patience); ; <-time.After(10 * time.Millisecond) {
		all, err := k.Processes(key, "main")
		if err == nil && len(all) == want {
			return all
		}
		if time.Now().After(deadline) {
			t.Fatalf("there are the processes %v, want %d: %v", all, want, err)
		}
	}
}

// TestCordon: a pod waits for a node that takes it.
func TestCordon(t *testing.T) {
	_, ns := start(t)
	node.kubelet.Cordon(true)
	key := create(t, ns, podOf(tool("main", "echo ran")))
	until(t, key, "it to be unschedulable", func(p *corev1.Pod) bool {
		return p != nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		})
	})
	node.kubelet.Cordon(false)
	until(t, key, "its end", finished)
	elsewhere := podOf(tool("main", "echo never"))
	elsewhere.Name, elsewhere.Spec.NodeSelector = "elsewhere", map[string]string{"disk": "fast"}
	until(t, create(t, ns, elsewhere), "it to be unschedulable", func(p *corev1.Pod) bool {
		return p != nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return strings.Contains(c.Message, "selector") })
	})
}

// TestStop: a kubelet that is stopped leaves no processes, and the next one knows that pods do not run any more.
func TestStop(t *testing.T) {
	_, ns := start(t)
	env := tools.Environment(t)
	node.kubelet.Cordon(true)
	defer node.kubelet.Cordon(false)
	run := func() *kubelet.Kubelet {
		k, err := kubelet.Start(t.Context(), kubelet.Options{Config: env.Config(), NodeName: "other", Isolation: kubelet.IsolateAuto})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := k.Stop(); err != nil {
				t.Error(err)
			}
		})
		return k
	}
	first := run()
	key := create(t, ns, podOf(tool("main", "echo ready", "forever")))
	until(t, key, "it to run", running)
	all := processes(t, first, key, 1)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := all[0].Signal(0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("it runs on: %v", err)
	}
	run()
	// The garbage collector of pods may be faster, since the node was gone.
	until(t, key, "its end", func(p *corev1.Pod) bool { return p == nil || finished(p) })
}
