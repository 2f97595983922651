package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/provider/testenv/kubelet/internal/jail"
)

func insecure() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // as kubelets do for probes
}

// Limits of termination messages, in bytes, as with kubelets.
const (
	maxMessage     = 4096
	maxPodMessages = 12 << 10 // of all containers together
	maxLogMessage  = 2048
	maxLogLines    = 80
)

func (w *worker) messageFile(c *container) string {
	return filepath.Join(w.dir, "containers", c.spec.Name, "termination-log")
}

// terminated is the state of a container that ended. The caller has the lock.
func (w *worker) terminated(c *container, r jail.Result, began metav1.Time) *corev1.ContainerStateTerminated {
	reason := "Completed"
	if r.Code != 0 {
		reason = "Error"
	}
	message := end(w.messageFile(c), maxMessage)
	if message == "" && r.Code != 0 && c.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		lines := strings.SplitAfter(end(w.logFile(c.spec.Name, c.attempt), maxLogMessage), "\n")
		message = strings.Join(lines[max(0, len(lines)-maxLogLines):], "")
	}
	message = message[:min(len(message), maxPodMessages/len(w.containers))]
	return &corev1.ContainerStateTerminated{
		ExitCode: int32(r.Code), Reason: reason, Message: message, StartedAt: began, FinishedAt: metav1.Now(), ContainerID: c.id, //nolint:gosec // an exit code
	}
}

// end is the end of a file, in bounds.
func end(file string, limit int64) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > limit {
		if _, err := f.Seek(-limit, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// notify has the status reported soon.
func (w *worker) notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	select {
	case w.changed <- struct{}{}:
	default: // it is going to be
	}
}

// reportChanges reports the status when it has changed, until the pod has ended.
func (w *worker) reportChanges() {
	w.report()
	for range w.changed {
		w.report()
	}
}

// report sends the status to the API server, as often as it takes.
func (w *worker) report() {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	pods := w.k.clients.CoreV1().Pods(w.pod.Namespace)
	p := w.seen().DeepCopy()
	for w.dead.Err() == nil {
		before := p.Status.DeepCopy()
		w.fill(&p.Status)
		if equality.Semantic.DeepEqual(before, &p.Status) {
			return
		}
		_, err := pods.UpdateStatus(w.dead, p, metav1.UpdateOptions{})
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		if !apierrors.IsConflict(err) {
			if !errors.Is(err, context.Canceled) {
				w.k.o.Progress("reporting the status of pod " + w.pod.Namespace + "/" + w.pod.Name + ": " + err.Error())
			}
			pause(w.dead, 200*time.Millisecond)
		}
		fresh, err := pods.Get(w.dead, w.pod.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && fresh.UID != w.pod.UID:
			return
		case err == nil:
			p = fresh
		}
	}
}

// fill sets everything that a kubelet decides about in a status.
func (w *worker) fill(s *corev1.PodStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Phase, s.Reason, s.Message = w.phase(), w.reason, w.message
	if s.StartTime == nil {
		s.StartTime = &metav1.Time{Time: w.started}
	}
	s.HostIP, s.PodIP = loopback, loopback
	s.HostIPs, s.PodIPs = []corev1.HostIP{{IP: loopback}}, []corev1.PodIP{{IP: loopback}}
	s.InitContainerStatuses, s.ContainerStatuses = nil, nil
	ready := true
	for _, c := range w.containers {
		status := corev1.ContainerStatus{
			Name: c.spec.Name, State: c.state, LastTerminationState: c.last, Ready: c.ready, RestartCount: c.restarts,
			Image: c.spec.Image, ImageID: c.imageID, ContainerID: c.id,
		}
		if c.initial && !c.sidecar {
			status.Ready = c.state.Terminated != nil && c.state.Terminated.ExitCode == 0
		} else {
			ready = ready && c.ready
		}
		started := c.started
		status.Started = &started
		if c.initial {
			s.InitContainerStatuses = append(s.InitContainerStatuses, status)
		} else {
			s.ContainerStatuses = append(s.ContainerStatuses, status)
		}
	}
	terminal := s.Phase == corev1.PodSucceeded || s.Phase == corev1.PodFailed
	readyReason := ""
	switch {
	case s.Phase == corev1.PodSucceeded:
		readyReason = "PodCompleted"
	case s.Phase == corev1.PodFailed:
		readyReason = "PodFailed"
	case !ready:
		readyReason = "ContainersNotReady"
	}
	initReason := ""
	if !w.initial {
		initReason = "ContainersNotInitialized"
	}
	setCondition(s, corev1.PodReadyToStartContainers, truth(w.ready && !terminal), "", "")
	setCondition(s, corev1.PodInitialized, truth(w.initial), initReason, "")
	setCondition(s, corev1.ContainersReady, truth(ready && !terminal), readyReason, "")
	setCondition(s, corev1.PodReady, truth(ready && !terminal), readyReason, "")
}

func truth(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// phase is the pod's. The caller has the lock.
func (w *worker) phase() corev1.PodPhase {
	if w.ended {
		if w.reason != "" {
			return corev1.PodFailed
		}
		for _, c := range w.containers {
			if !c.initial && (c.state.Terminated == nil || c.state.Terminated.ExitCode != 0) {
				return corev1.PodFailed
			}
		}
		return corev1.PodSucceeded
	}
	for _, c := range w.containers {
		if !c.initial && (c.state.Running != nil || c.state.Terminated != nil || c.restarts > 0) {
			return corev1.PodRunning
		}
	}
	return corev1.PodPending
}

// setCondition sets a condition; its time changes with its status only.
func setCondition(s *corev1.PodStatus, t corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) {
	for i := range s.Conditions {
		c := &s.Conditions[i]
		if c.Type != t {
			continue
		}
		if c.Status != status {
			c.LastTransitionTime = metav1.Now()
		}
		c.Status, c.Reason, c.Message = status, reason, message
		return
	}
	s.Conditions = append(s.Conditions, corev1.PodCondition{Type: t, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now()})
}
