package job_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/provider/internal/job"
)

// TestStart is B-172, B-176 and B-177, and what else keeps a pod from starting.
func TestStart(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	age := func(age time.Duration) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "team", Name: "x", CreationTimestamp: metav1.NewTime(now.Add(-age))}
	}
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	pod := func(old time.Duration, container string, state corev1.ContainerState) corev1.Pod {
		p := corev1.Pod{ObjectMeta: age(old)}
		status := corev1.ContainerStatus{Name: container, Image: "r.example/m:1", State: state}
		if container == "source" {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
			return p
		}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{status}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "source", State: waiting("PodInitializing", "")}}
		return p
	}
	unschedulable := corev1.Pod{ObjectMeta: age(time.Hour)}
	unschedulable.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	again := pod(time.Hour, "source", waiting("CrashLoopBackOff", ""))
	again.Status.ContainerStatuses[0].LastTerminationState = ended
	noSecret := waiting("CreateContainerConfigError", `secret "cloud" not found`)
	unpullable := job.Start{Failing: true, Unpullable: true}
	// One that was suspended has not had a pod for as long as it is old.
	resumed := &batchv1.Job{ObjectMeta: age(time.Hour)}
	resumed.Status.StartTime = new(metav1.NewTime(now.Add(-time.Minute)))
	if got := job.FindStart(resumed, nil, now).After; got != 4*time.Minute {
		t.Errorf("a Job that goes on is given %s", got)
	}
	for name, tt := range map[string]struct {
		job  time.Duration // its age
		pods []corev1.Pod
		want job.Start // without Waits
		says []string  // what Waits says
	}{
		"no pod yet":                {time.Minute, nil, job.Start{After: 4 * time.Minute}, nil},
		"no pod":                    {time.Hour, nil, job.Start{}, []string{"no pod", "kubectl describe job -n team j"}},
		"creating":                  {time.Hour, []corev1.Pod{pod(time.Minute, "source", waiting("ContainerCreating", ""))}, job.Start{After: 4 * time.Minute}, nil},
		"creating for long":         {time.Hour, []corev1.Pod{pod(time.Hour, "source", waiting("ContainerCreating", ""))}, job.Start{}, []string{"not started within 5m", "kubectl describe pod -n team x"}},
		"a volume of the runner":    {time.Hour, []corev1.Pod{pod(time.Hour, "runner", waiting("PodInitializing", ""))}, job.Start{}, []string{"Secret or ConfigMap"}},
		"no node yet":               {time.Hour, []corev1.Pod{unschedulable}, job.Start{}, []string{"no node has taken pod x"}},
		"pulled at last":            {time.Hour, []corev1.Pod{pod(time.Hour, "source", running)}, job.Start{Started: true}, nil},
		"ended":                     {time.Hour, []corev1.Pod{pod(time.Hour, "source", ended)}, job.Start{Started: true}, nil},
		"ended before":              {time.Hour, []corev1.Pod{again}, job.Start{Started: true}, nil},
		"only the broker runs":      {time.Hour, []corev1.Pod{pod(time.Hour, "broker", running)}, job.Start{}, []string{"not started"}},
		"another pod runs":          {time.Hour, []corev1.Pod{pod(time.Hour, "source", noSecret), pod(time.Hour, "source", running)}, job.Start{Started: true}, nil},
		"another pod is new":        {time.Hour, []corev1.Pod{pod(time.Hour, "source", noSecret), pod(0, "source", waiting("ContainerCreating", ""))}, job.Start{Failing: true}, []string{"cloud"}},
		"ErrImagePull, at first":    {time.Hour, []corev1.Pod{pod(30*time.Second, "source", waiting("ErrImagePull", "rpc"))}, job.Start{Failing: true, Unpullable: true, After: 90 * time.Second}, nil},
		"ErrImagePull":              {time.Hour, []corev1.Pod{pod(2*time.Minute, "source", waiting("ErrImagePull", "rpc"))}, unpullable, []string{"cannot pull image r.example/m:1"}},
		"ImagePullBackOff":          {time.Hour, []corev1.Pod{pod(time.Hour, "source", waiting("ImagePullBackOff", "back-off"))}, unpullable, []string{"cannot pull image r.example/m:1"}},
		"InvalidImageName":          {time.Hour, []corev1.Pod{pod(time.Hour, "source", waiting("InvalidImageName", "no"))}, unpullable, nil},
		"ErrImageNeverPull":         {time.Hour, []corev1.Pod{pod(time.Hour, "source", waiting("ErrImageNeverPull", "no"))}, unpullable, nil},
		"the runner's image":        {time.Hour, []corev1.Pod{pod(time.Hour, "runner", waiting("ErrImagePull", "no"))}, job.Start{Failing: true}, []string{"container runner of pod x cannot pull image"}},
		"no Secret for a variable":  {time.Hour, []corev1.Pod{pod(time.Hour, "source", noSecret)}, job.Start{Failing: true}, []string{"container source of pod x cannot be made: CreateContainerConfigError", `secret "cloud" not found`}},
		"no Secret, at first":       {time.Hour, []corev1.Pod{pod(time.Minute, "source", noSecret)}, job.Start{Failing: true, After: time.Minute}, nil},
		"a broker that cannot live": {time.Hour, []corev1.Pod{pod(time.Hour, "broker", waiting("CrashLoopBackOff", "back-off"))}, job.Start{Failing: true}, []string{"container broker"}},
		"a long message": {
			time.Hour, []corev1.Pod{pod(time.Hour, "source", waiting("CreateContainerError", strings.Repeat("é", 500)+"\nmore"))}, job.Start{Failing: true}, []string{"éé…"},
		},
	} {
		meta := age(tt.job)
		meta.Name = "j"
		got := job.FindStart(&batchv1.Job{ObjectMeta: meta}, tt.pods, now)
		if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(job.Start{}, "Waits")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got.Started != (got.Waits == "") || len(got.Waits) > 500 || strings.Contains(got.Waits, "\n") {
			t.Errorf("%s: waits %q", name, got.Waits)
		}
		for _, text := range tt.says {
			if !strings.Contains(got.Waits, text) {
				t.Errorf("%s: %q does not say %q", name, got.Waits, text)
			}
		}
	}
}
