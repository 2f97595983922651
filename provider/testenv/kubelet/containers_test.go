package kubelet_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func mounted(c corev1.Container, mounts ...corev1.VolumeMount) corev1.Container {
	c.VolumeMounts = append(c.VolumeMounts, mounts...)
	return c
}

// TestOrder: init containers run one after the other, a sidecar runs until the containers have ended, and sidecars end
// in the reverse order.
func TestOrder(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	shared := corev1.VolumeMount{Name: "shared", MountPath: "/shared"}
	watching := func(name string) corev1.Container {
		return sidecar(mounted(tool(name, "log /shared/log start-"+name, "term 0 50ms", "log /shared/log ready-"+name, "forever"), shared))
	}
	p := podOf(
		mounted(tool("main", "await /shared/log", "log /shared/log main", "echo done"), shared),
		mounted(tool("other", "await /shared/log", "sleep 100ms", "log /shared/log other"), shared))
	p.Spec.InitContainers = []corev1.Container{
		mounted(tool("first", "log /shared/log first"), shared), watching("early"),
		mounted(tool("second", "sleep 100ms", "log /shared/log second"), shared), watching("late"),
	}
	p.Spec.Volumes = []corev1.Volume{emptyDir("shared")}
	key := create(t, ns, p)
	got := until(t, key, "its end", finished)
	if got.Status.Phase != corev1.PodSucceeded {
		t.Errorf("the pod is %s", describe(got))
	}
	for _, c := range []string{"early", "late"} {
		s := status(got, c).State.Terminated
		if s == nil || s.ExitCode != 0 || !strings.Contains(output(t, key, c), "got TERM") {
			t.Errorf("sidecar %s: %+v, %s", c, s, output(t, key, c))
		}
	}
	early, late := status(got, "early").State.Terminated, status(got, "late").State.Terminated
	if early.FinishedAt.Before(&late.FinishedAt) {
		t.Errorf("the first sidecar ended at %s, the second at %s", early.FinishedAt, late.FinishedAt)
	}
	first, second, main := status(got, "first").State.Terminated, status(got, "second").State.Terminated, status(got, "main").State.Terminated
	if second.StartedAt.Before(&first.FinishedAt) || main.StartedAt.Before(&second.FinishedAt) {
		t.Errorf("containers ran beside each other: %s", describe(got))
	}
}

// TestOrderOfFiles looks at the order in which the containers of a pod wrote, which times of whole seconds cannot tell.
func TestOrderOfFiles(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	shared := corev1.VolumeMount{Name: "shared", MountPath: "/shared"}
	p := podOf(mounted(tool("main", "log /shared/log main", "cat /shared/log"), shared))
	p.Spec.InitContainers = []corev1.Container{
		mounted(tool("first", "sleep 200ms", "log /shared/log first"), shared),
		sidecar(mounted(tool("beside", "log /shared/log beside", "term 0", "forever"), shared)),
		mounted(tool("second", "await /shared/log", "sleep 300ms", "log /shared/log second"), shared),
	}
	p.Spec.Volumes = []corev1.Volume{emptyDir("shared")}
	key := create(t, ns, p)
	until(t, key, "its end", finished)
	lines := strings.Fields(strings.TrimPrefix(output(t, key, "main"), "/shared/log: "))
	if want := []string{"first", "beside", "second", "main"}; !slices.Equal(lines, want) {
		t.Errorf("got %v, want %v", lines, want)
	}
}

// TestInitFails: nothing starts after an init container that failed.
func TestInitFails(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	p := podOf(tool("main", "echo never"))
	p.Spec.InitContainers = []corev1.Container{sidecar(tool("beside", "term 0", "forever")), tool("broken", "exit 7"), tool("next", "echo never")}
	key := create(t, ns, p)
	got := until(t, key, "its end", finished)
	if got.Status.Phase != corev1.PodFailed || status(got, "broken").State.Terminated.ExitCode != 7 {
		t.Errorf("the pod is %s", describe(got))
	}
	if s := status(got, "beside").State.Terminated; s == nil {
		t.Errorf("the sidecar runs on: %s", describe(got))
	}
	if text := output(t, key, "main") + output(t, key, "next"); text != "" {
		t.Errorf("what comes after said %q", text)
	}
}

// TestSidecarRestarts: a sidecar that dies is started again, the volumes are the same, and its first log is kept.
func TestSidecarRestarts(t *testing.T) {
	t.Parallel()
	k, ns := start(t)
	shared := corev1.VolumeMount{Name: "shared", MountPath: "/shared"}
	p := podOf(mounted(tool("main", "await /shared/go", "echo went"), shared))
	p.Spec.InitContainers = []corev1.Container{sidecar(mounted(tool("beside", "echo started", "log /shared/log start", "cat /shared/log", "term 0", "forever"), shared))}
	p.Spec.Volumes = []corev1.Volume{emptyDir("shared")}
	key := create(t, ns, p)
	until(t, key, "it to run", running)
	for want := int32(1); want <= 3; want++ {
		logged(t, key, "beside", strings.Repeat("start\n", int(want)))
		if err := k.Kill(key, "beside"); err != nil {
			t.Fatal(err)
		}
		got := until(t, key, fmt.Sprintf("restart %d", want), func(p *corev1.Pod) bool {
			s := status(p, "beside")
			return s.RestartCount == want && s.State.Running != nil
		})
		last := status(got, "beside").LastTerminationState.Terminated
		if last == nil || last.ExitCode != 137 || last.Reason != "Error" {
			t.Errorf("the last end was %+v", last)
		}
	}
	volume, err := k.VolumeDir(key, "shared")
	if err != nil {
		t.Fatal(err)
	}
	touch(t, volume+"/go")
	got := until(t, key, "its end", finished)
	if got.Status.Phase != corev1.PodSucceeded {
		t.Errorf("the pod is %s", describe(got))
	}
	if n := strings.Count(output(t, key, "beside"), "started"); n != 4 {
		t.Errorf("there are %d logs, want 4", n)
	}
}

// TestRestartPolicy restarts main containers as their pod says.
func TestRestartPolicy(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	p := podOf(mounted(tool("main", "log /shared/log x", "cat /shared/log", "exit 1"), corev1.VolumeMount{Name: "shared", MountPath: "/shared"}))
	p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	p.Spec.Volumes = []corev1.Volume{emptyDir("shared")}
	key := create(t, ns, p)
	until(t, key, "CrashLoopBackOff", waitingFor("main", "CrashLoopBackOff"))
	until(t, key, "two restarts", func(p *corev1.Pod) bool { return p != nil && status(p, "main").RestartCount >= 2 })
}

// TestStartError: a program that is not there.
func TestStartError(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	c := tool("main")
	c.Command = []string{"/no/such/program"}
	got := until(t, create(t, ns, podOf(c)), "its end", finished)
	s := status(got, "main").State.Terminated
	if s == nil || s.ExitCode != 128 || s.Reason != "StartError" || !strings.Contains(s.Message, "/no/such/program") {
		t.Errorf("the pod is %s", describe(got))
	}
}

// TestImageCommand: what runs without a command is the image's entrypoint.
func TestImageCommand(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	whole, args := tool("whole"), tool("args", "echo other")
	whole.Command, args.Command = nil, nil
	key := create(t, ns, podOf(whole, args))
	until(t, key, "its end", finished)
	wantLines(t, output(t, key, "whole"), "default")
	wantLines(t, output(t, key, "args"), "other")
}

// TestTerminationMessages are bounded, and taken from the log if the pod says so.
func TestTerminationMessages(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	long := tool("long", "write /dev/termination-log "+strings.Repeat("a", 5000)+"end")
	file := tool("file", "write /result/message other")
	file.TerminationMessagePath = "/result/message"
	log := tool("log", "echo what went wrong", "exit 1")
	log.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	none := tool("none", "echo nothing", "exit 1")
	got := until(t, create(t, ns, podOf(long, file, log, none)), "its end", finished)
	message := func(name string) string { return status(got, name).State.Terminated.Message }
	// Four containers share 12 KiB; of a file its last 4 KiB count.
	if m := message("long"); len(m) != 3072 || strings.Trim(m, "a") != "" {
		t.Errorf("the long message has %d bytes", len(m))
	}
	for name, want := range map[string]string{"file": "other", "log": "what went wrong\n", "none": ""} {
		if got := message(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestDeadline: the pod's own deadline.
func TestDeadline(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	p := podOf(tool("main", "term 5", "forever"))
	seconds := int64(1)
	p.Spec.ActiveDeadlineSeconds = &seconds
	got := until(t, create(t, ns, p), "its end", finished)
	if got.Status.Phase != corev1.PodFailed || got.Status.Reason != "DeadlineExceeded" || status(got, "main").State.Terminated.ExitCode != 5 {
		t.Errorf("the pod is %s", describe(got))
	}
}

// TestUnsupported pods fail and say why.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	p := podOf(tool("main", "echo never"))
	p.Spec.Volumes = []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
	got := until(t, create(t, ns, p), "its end", finished)
	if got.Status.Reason != "Unsupported" || !strings.Contains(got.Status.Message, `volume "host"`) {
		t.Errorf("the pod is %s", describe(got))
	}
}

// TestProbes: a sidecar's startup probe holds the next container back, and a liveness probe restarts.
func TestProbes(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	shared := corev1.VolumeMount{Name: "shared", MountPath: "/shared"}
	beside := sidecar(mounted(tool("beside", "sleep 1200ms", "log /shared/log ready", fmt.Sprintf("serve %d", port), "term 0", "forever"), shared))
	beside.StartupProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(port)}}, PeriodSeconds: 1, FailureThreshold: 30}
	p := podOf(mounted(tool("main", "cat /shared/log"), shared))
	p.Spec.InitContainers, p.Spec.Volumes = []corev1.Container{beside}, []corev1.Volume{emptyDir("shared")}
	key := create(t, ns, p)
	until(t, key, "its end", finished)
	wantLines(t, output(t, key, "main"), "/shared/log: ready")

	sick := tool("sick", fmt.Sprintf("serve %d", port), "term 1", "forever")
	sick.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt(port)}}, PeriodSeconds: 1, FailureThreshold: 1}
	p = podOf(sick)
	p.Name, p.Spec.RestartPolicy = "sick", corev1.RestartPolicyAlways
	until(t, create(t, ns, p), "a restart", func(p *corev1.Pod) bool { return p != nil && status(p, "sick").RestartCount > 0 })
}

// jobOf is a Job with one try.
func jobOf(spec corev1.PodSpec) *batchv1.Job {
	none := int32(0)
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: batchv1.JobSpec{BackoffLimit: &none, Template: corev1.PodTemplateSpec{Spec: spec}}}
}

func createJob(t *testing.T, ns string, j *batchv1.Job) types.NamespacedName {
	t.Helper()
	client := tools.Environment(t).Clients()
	made, err := client.BatchV1().Jobs(ns).Create(t.Context(), j, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := client.CoreV1().Pods(ns).Watch(t.Context(), metav1.ListOptions{LabelSelector: "job-name=" + made.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	return types.NamespacedName{Namespace: ns, Name: (<-w.ResultChan()).Object.(*corev1.Pod).Name}
}

// untilJob waits for a condition of the Job and returns its reason.
func untilJob(t *testing.T, ns string, want batchv1.JobConditionType) string {
	t.Helper()
	w, err := tools.Environment(t).Clients().BatchV1().Jobs(ns).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		for _, c := range e.Object.(*batchv1.Job).Status.Conditions {
			if c.Type == want && c.Status == corev1.ConditionTrue {
				return c.Reason
			}
		}
	}
	t.Fatal("the watch ended")
	return ""
}

// TestJobs: how a Job ends.
func TestJobs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		steps    []string
		deadline int64
		act      func(t *testing.T, key types.NamespacedName)
		want     batchv1.JobConditionType
		reason   string
	}{
		"completes": {steps: []string{"echo done"}, want: batchv1.JobComplete, reason: "CompletionsReached"},
		"fails":     {steps: []string{"exit 1"}, want: batchv1.JobFailed, reason: "BackoffLimitExceeded"},
		"deadline":  {steps: []string{"term 0", "forever"}, deadline: 2, want: batchv1.JobFailed, reason: "DeadlineExceeded"},
		"killed": {steps: []string{"forever"}, want: batchv1.JobFailed, reason: "BackoffLimitExceeded", act: func(t *testing.T, key types.NamespacedName) {
			until(t, key, "it to run", running)
			if err := node.kubelet.Kill(key, "main"); err != nil {
				t.Fatal(err)
			}
		}},
		"vanishes": {steps: []string{"echo here", "spawn", "forever"}, want: batchv1.JobFailed, reason: "BackoffLimitExceeded", act: func(t *testing.T, key types.NamespacedName) {
			logged(t, key, "main", "here")
			until(t, key, "it to run", running)
			if err := node.kubelet.Vanish(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			until(t, key, "it to be gone", isGone)
			if all, err := node.kubelet.Processes(key, "main"); err == nil {
				t.Errorf("these run on: %v", all)
			}
		}},
		// One that ends well after it was asked to would count as a success.
		"deleted pod": {steps: []string{"term 1", "forever"}, want: batchv1.JobFailed, reason: "BackoffLimitExceeded", act: func(t *testing.T, key types.NamespacedName) {
			until(t, key, "it to run", running)
			remove(t, key, nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ns := start(t)
			job := jobOf(podOf(tool("main", tc.steps...)).Spec)
			if tc.deadline > 0 {
				job.Spec.ActiveDeadlineSeconds = &tc.deadline
			}
			key := createJob(t, ns, job)
			if tc.act != nil {
				tc.act(t, key)
			}
			if got := untilJob(t, ns, tc.want); got != tc.reason {
				t.Errorf("got %s, want %s", got, tc.reason)
			}
		})
	}
}
