package kubelet

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/provider/testenv/kubelet/internal/jail"
)

// container is a container of a pod and what became of it. The worker's lock guards what changes.
type container struct {
	spec     *corev1.Container
	initial  bool // it runs before the others
	sidecar  bool // and beside them
	state    corev1.ContainerState
	last     corev1.ContainerState // of the start before
	restarts int32
	ready    bool
	started  bool
	imageID  string
	id       string
	attempt  int
	process  *jail.Process
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// supervised is a container that is kept running as its policy says.
type supervised struct {
	started, done chan struct{}
	// stop ends it, within that time.
	stop func(grace time.Duration)
}

// supervise runs a container until it needs no other start. withPod tells that it stops when the pod does.
func (w *worker) supervise(c *container, withPod bool) *supervised {
	above := w.dead
	if withPod {
		above = w.stopping
	}
	stopping, stop := context.WithCancel(above)
	expired, expire := context.WithCancel(w.dead)
	if withPod {
		context.AfterFunc(w.expired, expire)
	}
	s := &supervised{started: make(chan struct{}), done: make(chan struct{}), stop: func(grace time.Duration) {
		time.AfterFunc(grace, expire)
		stop()
	}}
	go func() {
		defer close(s.done)
		defer expire()
		defer stop()
		started := s.started
		for delay := time.Duration(0); ; delay = min(max(2*delay, w.k.o.RestartBackoff), 30*w.k.o.RestartBackoff) {
			code, ran := w.once(stopping, expired, c, func() {
				if started != nil {
					close(started)
					started = nil
				}
			})
			// A pod that stops starts nothing again, nor does a container that is told to.
			if !ran || stopping.Err() != nil || w.stopping.Err() != nil || !restarts(w.pod, c, code) {
				return
			}
			if !w.backOff(stopping, c, delay) {
				return
			}
		}
	}()
	return s
}

// restarts tells whether a container that ended is started again.
func restarts(p *corev1.Pod, c *container, code int) bool {
	policy := p.Spec.RestartPolicy
	if c.spec.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*c.spec.RestartPolicy)
	}
	switch policy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return code != 0 || !c.initial || c.sidecar
}

// backOff waits before a container is started again; the first time not at all.
func (w *worker) backOff(ctx context.Context, c *container, delay time.Duration) bool {
	w.change(func() {
		c.attempt++
		c.restarts++
		c.last = c.state
		if delay > 0 {
			c.state = waiting("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
				delay, c.spec.Name, w.pod.Name, w.pod.Namespace, w.pod.UID))
		}
	})
	if delay > 0 {
		w.warn("BackOff", "Back-off restarting failed container %s in pod %s_%s(%s)", c.spec.Name, w.pod.Name, w.pod.Namespace, w.pod.UID)
		pause(ctx, delay)
	}
	return ctx.Err() == nil
}

// change changes a container's state and has it reported.
func (w *worker) change(f func()) {
	w.mu.Lock()
	f()
	w.mu.Unlock()
	w.notify()
}

func (w *worker) succeeded(c *container) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return c.state.Terminated != nil && c.state.Terminated.ExitCode == 0
}

// waitError is why a container cannot be started yet.
type waitError struct{ reason, message string }

func (e *waitError) Error() string { return e.message }

// once starts a container, which may have to wait for its image and for what its environment refers to, and returns
// its exit code when it has ended. It did not run when the pod stopped before.
func (w *worker) once(stopping, expired context.Context, c *container, started func()) (code int, ran bool) {
	img, err := w.awaitImage(stopping, c)
	if err != nil {
		return 0, false
	}
	var process *jail.Process
	for delay := 100 * time.Millisecond; ; delay = min(2*delay, 2*time.Second) {
		process, err = w.start(stopping, c, img)
		var wait *waitError
		if !errors.As(err, &wait) {
			break
		}
		if stopping.Err() != nil {
			return 0, false
		}
		w.change(func() { c.state = waiting(wait.reason, wait.message) })
		w.warn("Failed", "Error: %s", wait.message)
		pause(stopping, delay)
	}
	if err != nil {
		now := metav1.Now()
		w.change(func() {
			c.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: startFailed, Reason: "StartError", Message: err.Error(), StartedAt: now, FinishedAt: now, ContainerID: c.id,
			}}
		})
		w.warn("Failed", "Error: %v", err)
		return startFailed, true
	}
	began := metav1.Now()
	w.change(func() {
		c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}
		c.started, c.ready = c.spec.StartupProbe == nil, c.spec.StartupProbe == nil && c.spec.ReadinessProbe == nil
	})
	probing, end := context.WithCancel(w.dead)
	defer end()
	if c.spec.StartupProbe == nil {
		started()
	}
	unhealthy := w.probe(probing, c, started)
	w.await(stopping, expired, unhealthy, c, process)
	end()
	w.change(func() {
		c.process, c.ready, c.started = nil, false, false
		c.state = corev1.ContainerState{Terminated: w.terminated(c, process.Result, began)}
	})
	return process.Result.Code, true
}

// startFailed is the exit code of a container whose program could not be started.
const startFailed = 128

// await returns when the process has ended, after ending it when the container has to stop.
func (w *worker) await(stopping, expired context.Context, unhealthy <-chan string, c *container, p *jail.Process) {
	select {
	case <-p.Done:
		return
	case why := <-unhealthy:
		w.warn("Unhealthy", "%s", why)
		w.k.events.Eventf(w.pod, corev1.EventTypeNormal, "Killing", "Container %s failed liveness probe, will be restarted", c.spec.Name)
		var cancel context.CancelFunc
		expired, cancel = context.WithTimeout(expired, w.grace())
		defer cancel()
	case <-stopping.Done():
	}
	w.preStop(expired, c)
	if expired.Err() == nil {
		_ = p.Signal(termination(c.spec)) // it may have ended
	}
	select {
	case <-p.Done:
	case <-expired.Done():
		_ = p.Kill()
		<-p.Done
	}
}

// awaitImage pulls the container's image, again and again if need be.
func (w *worker) awaitImage(ctx context.Context, c *container) (*image, error) {
	for delay := w.k.o.ImageBackoff; ; delay = min(2*delay, 30*w.k.o.ImageBackoff) {
		keys, err := w.keychain(ctx)
		var img *image
		if err == nil {
			img, err = w.k.images.get(ctx, c.spec.Image, c.spec.ImagePullPolicy, keys)
		}
		if err == nil {
			w.mu.Lock()
			c.imageID = img.id
			w.mu.Unlock()
			return img, nil
		}
		if ctx.Err() != nil {
			return nil, errStopped
		}
		reason, message := reasonPull, err.Error()
		if pull, ok := errors.AsType[*pullError](err); ok {
			reason = pull.reason
		}
		w.change(func() { c.state = waiting(reason, message) })
		w.warn("Failed", "%s", message)
		if reason == reasonPull {
			// Both are seen, as with kubelets: what happened, and that it is going to be tried again.
			pause(ctx, delay/2)
			w.change(func() {
				c.state = waiting(reasonBackOff, fmt.Sprintf("Back-off pulling image %q: %s: %s", c.spec.Image, reason, message))
			})
			w.warn("BackOff", "Back-off pulling image %q", c.spec.Image)
			pause(ctx, delay/2)
		} else {
			pause(ctx, delay)
		}
		if ctx.Err() != nil {
			return nil, errStopped
		}
	}
}
