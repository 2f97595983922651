package kubelet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/captf-toolkit/captf/images/unpack"
	"github.com/captf-toolkit/captf/provider/testenv/kubelet/internal/jail"
)

// minimumGrace is what sidecars get to end when the pod's time is over.
const minimumGrace = 2 * time.Second

// worker runs one pod.
type worker struct {
	k   *Kubelet
	pod *corev1.Pod // as it was when it came here
	dir string

	// stopping ends when the pod has to stop, expired when its time to do so is over, and dead when nothing of it may
	// run or be reported any more.
	stopping, expired, dead context.Context //nolint:containedctx // they are what goes on with the pod
	stop, expire, kill      context.CancelFunc
	done                    chan struct{}

	volumes map[string]*volume // made before containers start
	changed chan struct{}      // something is to be reported

	mu         sync.Mutex
	latest     *corev1.Pod
	containers []*container // init containers first
	deadline   time.Time    // of a pod that stops
	expiry     *time.Timer
	started    time.Time
	ready      bool   // volumes are there
	initial    bool   // init containers are done
	ended      bool   // and main containers too
	removing   bool   // the pod is being deleted for good
	reason     string // why the pod failed as a whole
	message    string
	reporting  sync.Mutex
}

func newWorker(k *Kubelet, p *corev1.Pod) *worker {
	w := &worker{
		k: k, pod: p, latest: p, dir: filepath.Join(k.dir, "pods", string(p.UID)), done: make(chan struct{}), changed: make(chan struct{}, 1),
		volumes: map[string]*volume{}, started: time.Now(),
	}
	w.dead, w.kill = context.WithCancel(k.ctx)
	w.expired, w.expire = context.WithCancel(w.dead)
	w.stopping, w.stop = context.WithCancel(w.dead)
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		w.containers = append(w.containers, &container{
			spec: c, initial: true, sidecar: c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways,
			state: waiting("PodInitializing", ""),
		})
	}
	first := "ContainerCreating"
	if len(p.Spec.InitContainers) > 0 {
		first = "PodInitializing"
	}
	for i := range p.Spec.Containers {
		w.containers = append(w.containers, &container{spec: &p.Spec.Containers[i], state: waiting(first, "")})
	}
	if p.DeletionTimestamp != nil {
		w.terminate(p)
	}
	return w
}

// specs are all containers of the pod.
func (w *worker) specs() []*corev1.Container {
	var out []*corev1.Container
	for _, c := range w.containers {
		out = append(out, c.spec)
	}
	return out
}

// seen is the pod as it was seen last.
func (w *worker) seen() *corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.latest
}

// update is told of every change of the pod.
func (w *worker) update(p *corev1.Pod) {
	w.mu.Lock()
	w.latest = p
	ended := w.ended
	w.mu.Unlock()
	if p.DeletionTimestamp == nil {
		return
	}
	w.terminate(p)
	if ended {
		w.k.wg.Go(func() {
			<-w.done
			w.removeIfDeleted()
		})
	}
}

// terminate begins the end of a pod that is being deleted, or hurries it up.
func (w *worker) terminate(p *corev1.Pod) {
	grace := time.Duration(0)
	if s := p.DeletionGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	w.stopWithin(grace)
}

func (w *worker) stopWithin(grace time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	until := time.Now().Add(grace)
	switch {
	case w.expiry == nil:
		w.deadline, w.expiry = until, time.AfterFunc(grace, w.expire)
	case until.Before(w.deadline):
		w.deadline = until
		w.expiry.Reset(grace)
	}
	w.stop()
}

// die kills everything at once and keeps quiet about it.
func (w *worker) die() {
	w.mu.Lock()
	w.kill()
	var running []*jail.Process
	for _, c := range w.containers {
		if c.process != nil {
			running = append(running, c.process)
		}
	}
	w.mu.Unlock()
	for _, p := range running {
		_ = p.Kill() // it may have ended
	}
}

// run is the life of the pod.
func (w *worker) run() {
	defer close(w.done)
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		w.reportChanges()
	}()
	if d := w.pod.Spec.ActiveDeadlineSeconds; d != nil {
		timer := time.AfterFunc(time.Duration(*d)*time.Second, func() {
			w.fail("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
			w.stopWithin(w.grace())
		})
		defer timer.Stop()
	}
	w.live()
	w.mu.Lock()
	w.ended = true
	if w.expiry != nil {
		w.expiry.Stop()
	}
	w.mu.Unlock()
	close(w.changed)
	<-reported
	w.report()
	if err := unpack.Remove(w.dir); err != nil {
		w.k.o.Progress(err.Error())
	}
	w.removeIfDeleted()
	w.stop()
	w.expire()
}

// grace is what the pod's containers get to end.
func (w *worker) grace() time.Duration {
	if s := w.pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// fail makes the pod fail as a whole; the first reason counts.
func (w *worker) fail(reason, message string) {
	w.mu.Lock()
	if w.reason == "" {
		w.reason, w.message = reason, message
	}
	w.mu.Unlock()
	w.notify()
}

// removeIfDeleted ends the deletion of a pod that has stopped.
func (w *worker) removeIfDeleted() {
	w.mu.Lock()
	mine := w.latest.DeletionTimestamp != nil && !w.removing
	w.removing = w.removing || mine
	w.mu.Unlock()
	for mine && w.dead.Err() == nil {
		err := w.k.remove(w.dead, w.pod)
		if err == nil {
			return
		}
		pause(w.dead, 200*time.Millisecond)
	}
}

// live runs the containers, and returns when all have ended.
func (w *worker) live() {
	if w.pod.Status.Phase == corev1.PodRunning {
		w.fail("NodeLost", "the pod was running on this node before the kubelet started, and does not any more")
		return
	}
	if why := unsupported(&w.pod.Spec); why != "" {
		w.warn("Unsupported", "%s", why)
		w.fail("Unsupported", why)
		return
	}
	if !w.awaitVolumes() {
		return
	}
	refreshing, end := context.WithCancel(w.dead)
	var refresher sync.WaitGroup
	refresher.Go(func() { w.refreshVolumes(refreshing) })
	defer refresher.Wait()
	defer end()

	var sidecars []*supervised
	defer func() {
		// They end in the reverse order, when nothing needs them any more.
		for _, s := range slices.Backward(sidecars) {
			s.stop(w.sidecarGrace())
			<-s.done
		}
	}()
	var mains []*supervised
	for _, c := range w.containers {
		if w.stopping.Err() != nil {
			break
		}
		switch {
		case c.sidecar:
			s := w.supervise(c, false)
			sidecars = append(sidecars, s)
			select {
			case <-s.started:
			case <-s.done:
			case <-w.stopping.Done():
			}
		case c.initial:
			<-w.supervise(c, true).done
			if !w.succeeded(c) {
				return
			}
		default:
			w.initialised()
			mains = append(mains, w.supervise(c, true))
		}
	}
	for _, s := range mains {
		<-s.done
	}
}

// initialised notes that all init containers are done.
func (w *worker) initialised() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.initial {
		return
	}
	w.initial = true
	for _, c := range w.containers {
		if !c.initial && c.state.Waiting != nil {
			c.state = waiting("ContainerCreating", "")
		}
	}
}

// sidecarGrace is what is left for a sidecar.
func (w *worker) sidecarGrace() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expiry == nil {
		return w.grace()
	}
	return max(time.Until(w.deadline), minimumGrace)
}

// awaitVolumes makes the pod's volumes, however long it takes until everything is there.
func (w *worker) awaitVolumes() bool {
	said := ""
	for delay := 100 * time.Millisecond; ; delay = min(2*delay, 2*time.Second) {
		err := w.setUpVolumes(w.stopping)
		if err == nil {
			w.mu.Lock()
			w.ready = true
			w.mu.Unlock()
			return w.stopping.Err() == nil
		}
		if w.stopping.Err() != nil {
			return false
		}
		if err.Error() != said {
			said = err.Error()
			w.warn("FailedMount", "%v", err)
		}
		pause(w.stopping, delay)
	}
}

// warn records an event of the pod.
func (w *worker) warn(reason, format string, args ...any) {
	w.k.events.Eventf(w.pod, corev1.EventTypeWarning, reason, format, args...)
}

// logFile is where the output of a start of a container is.
func (w *worker) logFile(container string, attempt int) string {
	return filepath.Join(w.k.dir, "logs", w.pod.Namespace, w.pod.Name, string(w.pod.UID), container, strconv.Itoa(attempt)+".log")
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// unsupported says what a pod needs that cannot be had here, "" for nothing.
func unsupported(spec *corev1.PodSpec) string {
	for _, v := range spec.Volumes {
		if v.Secret == nil && v.ConfigMap == nil && v.EmptyDir == nil && v.DownwardAPI == nil && v.Projected == nil {
			return fmt.Sprintf("volume %q: volumes of this kind are not supported", v.Name)
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.Secret == nil && s.ConfigMap == nil && s.DownwardAPI == nil && s.ServiceAccountToken == nil {
				return fmt.Sprintf("volume %q: sources of this kind are not supported", v.Name)
			}
		}
	}
	for _, c := range append(slices.Clone(spec.InitContainers), spec.Containers...) {
		for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
			if p != nil && p.HTTPGet == nil && p.TCPSocket == nil {
				return fmt.Sprintf("container %q: probes by commands and gRPC are not supported", c.Name)
			}
		}
		if l := c.Lifecycle; l != nil {
			if l.PostStart != nil || l.PreStop != nil && l.PreStop.Sleep == nil && l.PreStop.HTTPGet == nil {
				return fmt.Sprintf("container %q: hooks after the start, or by commands, are not supported", c.Name)
			}
		}
		if len(c.VolumeDevices) > 0 {
			return fmt.Sprintf("container %q: block devices are not supported", c.Name)
		}
	}
	return ""
}

// errStopped says that the pod stops.
var errStopped = errors.New("the pod stops")
