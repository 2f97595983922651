package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf-toolkit/captf/provider/testenv/kubelet/internal/jail"
)

// ErrNotRunning says of a pod or container that it does not run here.
var ErrNotRunning = errors.New("not running here")

// find returns what runs, or ran, a pod.
func (k *Kubelet) find(pod types.NamespacedName) (*worker, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.byName[pod]
	if w == nil {
		return nil, fmt.Errorf("pod %s: %w", pod, ErrNotRunning)
	}
	return w, nil
}

func (k *Kubelet) process(pod types.NamespacedName, container string) (*jail.Process, error) {
	w, err := k.find(pod)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.containers {
		if c.spec.Name == container && c.process != nil {
			return c.process, nil
		}
	}
	return nil, fmt.Errorf("container %s of pod %s: %w", container, pod, ErrNotRunning)
}

// Vanish kills a pod as the death of its node does: everything stops at once, its status stays what it was last, and
// after some time (here at once) the pod is marked as failed and deleted by force.
func (k *Kubelet) Vanish(ctx context.Context, pod types.NamespacedName) error {
	w, err := k.find(pod)
	if err != nil {
		return err
	}
	w.die()
	<-w.done
	pods := k.clients.CoreV1().Pods(pod.Namespace)
	p, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && p.UID != w.pod.UID {
		return nil
	}
	if err != nil {
		return fmt.Errorf("letting pod %s vanish: %w", pod, err)
	}
	// As the pod garbage collector does with the pods of a node that is gone.
	p.Status.Phase = corev1.PodFailed
	setCondition(&p.Status, corev1.DisruptionTarget, corev1.ConditionTrue, "DeletionByPodGC", "PodGC: node no longer exists")
	if _, err := pods.UpdateStatus(ctx, p, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("letting pod %s vanish: %w", pod, err)
	}
	if err := k.remove(ctx, p); err != nil {
		return fmt.Errorf("letting pod %s vanish: %w", pod, err)
	}
	return nil
}

// remove deletes a pod of which nothing runs any more.
func (k *Kubelet) remove(ctx context.Context, p *corev1.Pod) error {
	now := int64(0)
	err := k.clients.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.UID},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone, or another one has its name
	}
	return err
}

// Kill kills a container with everything that it started, as the kernel does that is out of memory. What comes then
// is up to its restart policy.
func (k *Kubelet) Kill(pod types.NamespacedName, container string) error {
	p, err := k.process(pod, container)
	if err != nil {
		return err
	}
	return p.Kill()
}

// Signal sends a signal to the first process of a container. The kernel keeps those away for which it has no handler,
// as in any container.
func (k *Kubelet) Signal(pod types.NamespacedName, container string, s syscall.Signal) error {
	p, err := k.process(pod, container)
	if err != nil {
		return err
	}
	return p.Signal(s)
}

// Process is a process of a container.
type Process struct {
	// PID is its id on this machine.
	PID int
	// Args are its arguments, the program first.
	Args []string
}

// Signal sends it a signal.
func (p Process) Signal(s syscall.Signal) error { return syscall.Kill(p.PID, s) }

// Processes returns the processes of a container, the first one first. It needs Linux, and a kubelet with namespaces.
func (k *Kubelet) Processes(pod types.NamespacedName, container string) ([]Process, error) {
	p, err := k.process(pod, container)
	if err != nil {
		return nil, err
	}
	of := func(pid int) string {
		ns, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
		return ns
	}
	namespace := of(p.PID)
	if namespace == "" || !k.jailed {
		return nil, fmt.Errorf("listing the processes of container %s of pod %s: %w", container, pod, errors.ErrUnsupported)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var out []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || of(pid) != namespace {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		found := Process{PID: pid, Args: strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")}
		if pid == p.PID {
			out = append([]Process{found}, out...)
		} else {
			out = append(out, found)
		}
	}
	return out, nil
}

// Logs returns what a container wrote, of all its restarts. Logs are kept when the pod is gone, until Stop; of pods
// with one name those of the latest count.
func (k *Kubelet) Logs(pod types.NamespacedName, container string) ([]byte, error) {
	w, err := k.find(pod)
	if err != nil {
		return nil, err
	}
	var out []byte
	for i := 0; ; i++ {
		text, err := os.ReadFile(w.logFile(container, i))
		if errors.Is(err, fs.ErrNotExist) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the log of container %s of pod %s: %w", container, pod, err)
		}
		out = append(out, text...)
	}
}

// AllLogs calls visit for the log of every container that ran: with NAMESPACE/POD/CONTAINER and what it wrote.
func (k *Kubelet) AllLogs(visit func(container string, text []byte) error) error {
	top := filepath.Join(k.dir, "logs")
	return filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(top, p)
		if err != nil {
			return err
		}
		parts := strings.Split(filepath.ToSlash(rel), "/") // namespace, pod, uid, container, file
		text, err := os.ReadFile(p)                        //nolint:gosec // our own log
		if err != nil {
			return err
		}
		return visit(parts[0]+"/"+parts[1]+"/"+parts[3], text)
	})
}

// VolumeDir is where a volume of a pod is on this machine while the pod runs.
func (k *Kubelet) VolumeDir(pod types.NamespacedName, volume string) (string, error) {
	w, err := k.find(pod)
	if err != nil {
		return "", err
	}
	return filepath.Join(w.dir, "volumes", volume), nil
}
