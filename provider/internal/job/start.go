package job

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/captf-toolkit/captf/provider/internal/operation"
)

const (
	// PullPatience is how long a node may fail to make a container before that is told, and before a Job falls back to another
	// image (B-172): what it lacks may be on its way.
	PullPatience = 2 * time.Minute
	// StartPatience is how long a pod may take to start while nothing says that it cannot. A new node takes minutes.
	StartPatience = 5 * time.Minute
)

// Start is how far the pods of a Job have come.
type Start struct {
	// Started tells that the module's container was made: whatever it waited for is there.
	Started bool
	// Failing tells that a node says why it cannot make a container, Unpullable that this is the module's image, which may
	// have others to fall back to. The runner's has not (B-177).
	Failing, Unpullable bool
	// Waits says what the pod waits for, "" once it has started. After is how long to wait until that is worth telling.
	Waits string
	After time.Duration
}

// pullFailures are the reasons of a container that waits for its image in vain (B-172).
var pullFailures = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"}

// progress are the reasons of a container that waits for what goes on. A volume whose Secret is missing looks the same: only
// events tell it, which the manager may not read.
var progress = []string{"", "ContainerCreating", "PodInitializing"}

// Begun is since when a Job may have pods: one that was suspended begins anew.
func Begun(j *batchv1.Job) time.Time {
	if t := j.Status.StartTime; t != nil && t.After(j.CreationTimestamp.Time) {
		return t.Time
	}
	return j.CreationTimestamp.Time
}

// FindStart returns how far the pods of a Job have come at a time.
func FindStart(j *batchv1.Job, pods []corev1.Pod, now time.Time) Start {
	out := Start{
		Waits: fmt.Sprintf("it has had no pod for %s; its events say why: kubectl describe job -n %s %s", StartPatience, j.Namespace, j.Name),
		After: StartPatience - now.Sub(Begun(j)),
	}
	for i := range pods {
		p := &pods[i]
		if started(p) {
			return Start{Started: true}
		}
		if s := waiting(p, now); i == 0 || !out.Failing {
			out = s
		}
	}
	out.After = max(0, out.After)
	return out
}

// started tells that the module's container of a pod runs, or ran.
func started(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == operation.SourceContainer && (c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil)
	})
}

// waiting says what a pod waits for that has not started.
func waiting(p *corev1.Pod, now time.Time) Start {
	age := now.Sub(p.CreationTimestamp.Time)
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		w := c.State.Waiting
		if w == nil || slices.Contains(progress, w.Reason) {
			continue
		}
		s := Start{Failing: true, After: PullPatience - age}
		if slices.Contains(pullFailures, w.Reason) { // two of them take turns, with other messages
			s.Unpullable = c.Name == operation.SourceContainer
			s.Waits = fmt.Sprintf("container %s of pod %s cannot pull image %s", c.Name, p.Name, c.Image)
			return s
		}
		s.Waits = fmt.Sprintf("container %s of pod %s cannot be made: %s: %s", c.Name, p.Name, w.Reason, firstLine(w.Message))
		return s
	}
	s := Start{After: StartPatience - age}
	s.Waits = fmt.Sprintf("pod %s has not started within %s; its events say what it waits for, such as a Secret or ConfigMap that does not exist: kubectl describe pod -n %s %s",
		p.Name, StartPatience, p.Namespace, p.Name)
	if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	}) {
		s.Waits = fmt.Sprintf("no node has taken pod %s within %s; its events say why: kubectl describe pod -n %s %s", p.Name, StartPatience, p.Namespace, p.Name)
	}
	return s
}

// firstLine is the beginning of a node's message, which may be long.
func firstLine(message string) string {
	const most = 300
	line, _, _ := strings.Cut(message, "\n")
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}
