package webhooks

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
)

// checkMachineDelete keeps the TerraformMachine of a Machine that stays: a Machine is deleted first, so that its node is
// drained and no Machine is left without infrastructure (B-832).
func (o Options) checkMachineDelete(ctx context.Context, r *review, m *infrav1.TerraformMachine) {
	if deleting(m) {
		return
	}
	owner, err := o.machineOf(ctx, m)
	if err != nil {
		r.fail("looking for the Machine: %w", err)
		return
	}
	if owner == nil {
		return
	}
	if _, move := m.Annotations[infrav1.AnnotationDeleteForMove]; move {
		paused, err := o.paused(ctx, types.NamespacedName{Namespace: m.Namespace, Name: owner.Spec.ClusterName})
		switch {
		case err != nil:
			r.fail("looking whether the Cluster is paused: %w", err)
			return
		case paused:
			return
		}
		r.refuse("the annotation %s has an effect only while Cluster %s is paused, as clusterctl move pauses it",
			infrav1.AnnotationDeleteForMove, owner.Spec.ClusterName)
	}
	r.refuse("Machine %s/%s uses it; delete that Machine instead", owner.Namespace, owner.Name)
}

// machineOf is the Machine that the object is the infrastructure of, nil if there is none or it is being deleted. The API
// server is asked, because the cache may be limited to other namespaces, and because a Machine that is just being deleted
// must not keep its own deletion from going on.
func (o Options) machineOf(ctx context.Context, m *infrav1.TerraformMachine) (*clusterv1.Machine, error) {
	ref := machineReference(m)
	if ref == nil { // Cluster API did not get to it yet
		var machines clusterv1.MachineList
		if err := o.Live.List(ctx, &machines, client.InNamespace(m.Namespace)); err != nil {
			return nil, fmt.Errorf("listing the Machines of namespace %s: %w", m.Namespace, err)
		}
		i := slices.IndexFunc(machines.Items, func(machine clusterv1.Machine) bool { return uses(&machine, m, nil) })
		if i < 0 {
			return nil, nil
		}
		return &machines.Items[i], nil
	}
	var machine clusterv1.Machine
	err := o.Live.Get(ctx, types.NamespacedName{Namespace: m.Namespace, Name: ref.Name}, &machine)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Machine %s/%s: %w", m.Namespace, ref.Name, err)
	case uses(&machine, m, ref):
		return &machine, nil
	}
	return nil, nil
}

// uses tells that a Machine is the owner of a TerraformMachine (B-052) and stays.
func uses(machine *clusterv1.Machine, m *infrav1.TerraformMachine, ref *metav1.OwnerReference) bool {
	return !deleting(machine) &&
		inputs.OwnerMismatch(m, machine, ref, machine.Spec.InfrastructureRef, machine.Spec.ClusterName) == ""
}

// machineReference is the owner reference to a Machine, nil if there is none.
func machineReference(m *infrav1.TerraformMachine) *metav1.OwnerReference {
	for i := range m.OwnerReferences {
		ref := &m.OwnerReferences[i]
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err == nil && gv.Group == clusterv1.GroupVersion.Group && ref.Kind == "Machine" {
			return ref
		}
	}
	return nil
}

// paused tells that a Cluster is paused. One that is gone is not.
func (o Options) paused(ctx context.Context, key types.NamespacedName) (bool, error) {
	var cluster clusterv1.Cluster
	if err := o.Live.Get(ctx, key, &cluster); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return cluster.Spec.Paused != nil && *cluster.Spec.Paused, nil
}
