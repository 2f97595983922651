package kubelet

import (
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cordon keeps the node from taking new pods, which stay Pending, or ends that.
func (k *Kubelet) Cordon(cordoned bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cordoned = cordoned
	if !cordoned {
		for _, p := range k.waiting {
			k.schedule(p)
		}
	}
}

// schedule binds a pod to the node if it wants to be there. The caller has the lock.
func (k *Kubelet) schedule(p *corev1.Pod) {
	if p.DeletionTimestamp != nil || len(p.Spec.SchedulingGates) > 0 || k.binding[p.UID] || p.Spec.SchedulerName != corev1.DefaultSchedulerName {
		return
	}
	why := ""
	if k.cordoned {
		why = "node(s) were unschedulable"
	}
	for key, value := range p.Spec.NodeSelector {
		if labels := k.labels(); labels[key] != value {
			why = "node(s) didn't match Pod's node affinity/selector"
		}
	}
	k.binding[p.UID] = why == ""
	k.waiting[p.UID] = p
	k.wg.Go(func() {
		if why != "" {
			k.unschedulable(p, "0/1 nodes are available: 1 "+why+".")
			return
		}
		k.bind(p)
	})
}

func (k *Kubelet) labels() map[string]string {
	return map[string]string{corev1.LabelHostname: k.o.NodeName, corev1.LabelOSStable: imageOS, corev1.LabelArchStable: runtime.GOARCH}
}

func (k *Kubelet) bind(p *corev1.Pod) {
	for k.ctx.Err() == nil {
		err := k.clients.CoreV1().Pods(p.Namespace).Bind(k.ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: k.o.NodeName},
		}, metav1.CreateOptions{})
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		k.o.Progress(fmt.Sprintf("binding pod %s/%s: %v", p.Namespace, p.Name, err))
		pause(k.ctx, 200*time.Millisecond)
	}
}

// unschedulable says once why a pod stays Pending.
func (k *Kubelet) unschedulable(p *corev1.Pod, message string) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Message == message {
			return
		}
	}
	p = p.DeepCopy()
	setCondition(&p.Status, corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, message)
	if _, err := k.clients.CoreV1().Pods(p.Namespace).UpdateStatus(k.ctx, p, metav1.UpdateOptions{}); err != nil {
		return // it has changed, which brings it here again
	}
	k.events.Event(p, corev1.EventTypeWarning, "FailedScheduling", message)
}
