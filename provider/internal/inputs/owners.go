package inputs

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Owners are the Cluster API objects that an object belongs to. An owner that does not pass the checks of B-052 is not among
// them, so that nobody reads from it or writes to it by mistake.
type Owners struct {
	// Cluster is the Cluster: of a TerraformCluster its owner, else the one that the object's label names (B-056).
	Cluster *clusterv1.Cluster
	// Machine owns a TerraformMachine.
	Machine *clusterv1.Machine
	// MachinePool owns a TerraformMachinePool.
	MachinePool *clusterv1.MachinePool
	// TerraformCluster is the infrastructure of the Cluster; of a TerraformCluster it is the object itself.
	TerraformCluster *infrav1.TerraformCluster
	// ControlPlaneOwner is the reference to a control plane that owns a TerraformMachine before its Machine does.
	ControlPlaneOwner *metav1.OwnerReference
	// ExternallyManaged tells that somebody else manages the TerraformCluster (B-048).
	ExternallyManaged bool
	// Gate is the first gate of owner and cluster that is not met (B-041 to B-044, B-052, B-053); nil when all are.
	Gate *Gate
}

// ClusterName returns the name of the Cluster that the object belongs to, "" when it is not known: its label, else its owner.
func (o *Owners) ClusterName(obj client.Object) string {
	if name := obj.GetLabels()[clusterv1.ClusterNameLabel]; name != "" {
		return name
	}
	if o != nil && o.Cluster != nil {
		return o.Cluster.Name
	}
	if _, isCluster := obj.(*infrav1.TerraformCluster); !isCluster {
		return ""
	}
	if ref := ownerReference(obj, clusterKind); ref != nil {
		return ref.Name
	}
	return ""
}

// Paused tells that the object or its Cluster is paused (B-028).
func (o *Owners) Paused(obj client.Object) bool {
	if o.Cluster == nil {
		return annotations.HasPaused(obj)
	}
	return annotations.IsPaused(o.Cluster, obj)
}

// Kinds of owners.
const (
	clusterKind     = "Cluster"
	machineKind     = "Machine"
	machinePoolKind = "MachinePool"
)

// controlPlaneGroup is the API group of control planes; those of every provider are in it.
const controlPlaneGroup = "controlplane.cluster.x-k8s.io"

// ResolveOwners finds the owners of an object and the first gate of theirs that is not met, in the order owner, cluster,
// infrastructure (B-050). The error is one of the API; what is missing or wrong is a gate.
func ResolveOwners(ctx context.Context, reader client.Reader, obj infrav1.Workspace) (*Owners, error) {
	r := resolver{ctx: ctx, reader: reader, obj: obj, owners: &Owners{}}
	var err error
	switch obj := obj.(type) {
	case *infrav1.TerraformCluster:
		r.owners.TerraformCluster = obj
		r.owners.ExternallyManaged = annotations.IsExternallyManaged(obj)
		err = r.cluster()
	case *infrav1.TerraformMachine:
		err = r.machine()
	case *infrav1.TerraformMachinePool:
		err = r.machinePool()
	default:
		err = fmt.Errorf("finding the owners of %T: it is none of the kinds that run modules", obj)
	}
	if err != nil {
		return nil, err
	}
	return r.owners, nil
}

type resolver struct {
	ctx    context.Context
	reader client.Reader
	obj    infrav1.Workspace
	owners *Owners
}

// close notes a gate unless an earlier one is closed already.
func (r *resolver) close(gate *Gate) {
	if r.owners.Gate == nil && gate != nil {
		r.owners.Gate = gate.ofOwner()
	}
}

// cluster finds the Cluster that owns a TerraformCluster.
func (r *resolver) cluster() error {
	ref := ownerReference(r.obj, clusterKind)
	if ref == nil {
		r.close(waiting(infrav1.WaitingForOwnerReason,
			"waiting for a Cluster to own this %s: name it in the Cluster's spec.infrastructureRef", kindOf(r.obj)))
		return nil
	}
	var cluster clusterv1.Cluster
	found, err := r.get(ref.Name, clusterKind, &cluster)
	if err != nil {
		return err
	}
	if !found {
		r.close(gone(clusterKind, r.obj.GetNamespace(), ref.Name))
		return nil
	}
	if gate := r.check(clusterKind, &cluster, ref, cluster.Spec.InfrastructureRef, cluster.Name); gate != nil {
		r.close(gate)
		return nil
	}
	r.owners.Cluster = &cluster
	return nil
}

// machine finds the Machine that owns a TerraformMachine, and its cluster.
func (r *resolver) machine() error {
	for _, ref := range r.obj.GetOwnerReferences() {
		if group(ref) == controlPlaneGroup {
			r.owners.ControlPlaneOwner = &ref
			break
		}
	}
	ref := ownerReference(r.obj, machineKind)
	switch {
	case ref != nil:
		var machine clusterv1.Machine
		found, err := r.get(ref.Name, machineKind, &machine)
		if err != nil {
			return err
		}
		if !found {
			r.close(gone(machineKind, r.obj.GetNamespace(), ref.Name))
			break
		}
		if gate := r.check(machineKind, &machine, ref, machine.Spec.InfrastructureRef, machine.Spec.ClusterName); gate != nil {
			r.close(gate)
			break
		}
		r.owners.Machine = &machine
	case r.owners.ControlPlaneOwner != nil:
		r.close(waiting(infrav1.WaitingForOwnerMachineReason,
			"waiting for the Machine of this TerraformMachine: %s %s has made the TerraformMachine and makes the Machine next",
			r.owners.ControlPlaneOwner.Kind, r.owners.ControlPlaneOwner.Name))
	default:
		r.close(waiting(infrav1.WaitingForOwnerReason,
			"waiting for a Machine to own this TerraformMachine: it is made by a control plane or MachineSet, not by itself"))
	}
	return r.labelledCluster()
}

// machinePool finds the MachinePool that owns a TerraformMachinePool, and its cluster.
func (r *resolver) machinePool() error {
	ref := ownerReference(r.obj, machinePoolKind)
	switch {
	case ref != nil:
		var pool clusterv1.MachinePool
		found, err := r.get(ref.Name, machinePoolKind, &pool)
		if err != nil {
			return err
		}
		if !found {
			r.close(gone(machinePoolKind, r.obj.GetNamespace(), ref.Name))
			break
		}
		if gate := r.check(machinePoolKind, &pool, ref, pool.Spec.Template.Spec.InfrastructureRef, pool.Spec.ClusterName); gate != nil {
			r.close(gate)
			break
		}
		r.owners.MachinePool = &pool
	case len(r.obj.GetOwnerReferences()) > 0:
		r.close(waiting(infrav1.WaitingForOwnerMachinePoolReason,
			"waiting for a MachinePool to own this TerraformMachinePool: its owners are of other kinds"))
	default:
		r.close(waiting(infrav1.WaitingForOwnerReason,
			"waiting for a MachinePool to own this TerraformMachinePool: name it in the MachinePool's spec.template.spec.infrastructureRef"))
	}
	return r.labelledCluster()
}

// labelledCluster finds the Cluster that the object's label names, and its TerraformCluster (B-056).
func (r *resolver) labelledCluster() error {
	name := r.obj.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		r.close(waiting(infrav1.WaitingForOwnerReason,
			"waiting for the label %s, which Cluster API sets with the owner", clusterv1.ClusterNameLabel))
		return nil
	}
	var cluster clusterv1.Cluster
	found, err := r.get(name, clusterKind, &cluster)
	if err != nil {
		return err
	}
	if !found {
		r.close(waiting(infrav1.WaitingForOwnerReason,
			"waiting for Cluster %s/%s, which the label %s names and which does not exist",
			r.obj.GetNamespace(), name, clusterv1.ClusterNameLabel))
		return nil
	}
	r.owners.Cluster = &cluster
	return r.infrastructure(&cluster)
}

// infrastructure finds the TerraformCluster of a machine's or pool's Cluster.
func (r *resolver) infrastructure(cluster *clusterv1.Cluster) error {
	ref := cluster.Spec.InfrastructureRef
	if ref.APIGroup != infrav1.GroupVersion.Group || ref.Kind != contract.RoleCluster.Kind() {
		is := "has no spec.infrastructureRef"
		if ref.Kind != "" {
			is = fmt.Sprintf("has infrastructure of the kind %s in %s", ref.Kind, ref.APIGroup)
		}
		r.close(wrong(infrav1.ClusterNotTerraformReason,
			"Cluster %s/%s %s, and a %s works with a TerraformCluster only: use the machines of the Cluster's own infrastructure provider",
			cluster.Namespace, cluster.Name, is, kindOf(r.obj)))
		return nil
	}
	var object infrav1.TerraformCluster
	found, err := r.get(ref.Name, ref.Kind, &object)
	if err != nil {
		return err
	}
	if found {
		r.owners.TerraformCluster = &object
		r.owners.ExternallyManaged = annotations.IsExternallyManaged(&object)
	}
	provisioned := cluster.Status.Initialization.InfrastructureProvisioned
	switch {
	case !found:
		r.close(waiting(infrav1.WaitingForClusterInfrastructureReason,
			"waiting for TerraformCluster %s/%s, which Cluster %s names and which does not exist", cluster.Namespace, ref.Name, cluster.Name))
	case provisioned == nil || !*provisioned:
		r.close(waiting(infrav1.WaitingForClusterInfrastructureReason,
			"waiting for the infrastructure of Cluster %s/%s: look at the conditions of TerraformCluster %s", cluster.Namespace, cluster.Name, ref.Name))
	}
	return nil
}

// get reads an object of the same namespace, and tells whether it exists.
func (r *resolver) get(name, kind string, into client.Object) (bool, error) {
	key := client.ObjectKey{Namespace: r.obj.GetNamespace(), Name: name}
	if err := r.reader.Get(r.ctx, key, into); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading %s %s: %w", kind, key, err)
	}
	return true, nil
}

// check makes the checks of B-052.
func (r *resolver) check(kind string, owner client.Object, ref *metav1.OwnerReference, infrastructure clusterv1.ContractVersionedObjectReference, cluster string) *Gate {
	problem := OwnerMismatch(r.obj, owner, ref, infrastructure, cluster)
	if problem == "" {
		return nil
	}
	return wrong(infrav1.OwnerMismatchReason, "%s %s/%s is no owner of this %s: %s; nothing is done until they agree",
		kind, owner.GetNamespace(), owner.GetName(), kindOf(r.obj), problem)
}

// OwnerMismatch says why a Cluster API object is no owner of the object, "" when it is one (B-052): its infrastructure
// reference names another object, its UID is not that of the owner reference, or the object is labelled for another cluster.
// The reference is nil when the object has none to it.
func OwnerMismatch(obj infrav1.Workspace, owner client.Object, ref *metav1.OwnerReference, infrastructure clusterv1.ContractVersionedObjectReference, cluster string) string {
	kind, name := kindOf(obj), obj.GetName()
	label := obj.GetLabels()[clusterv1.ClusterNameLabel]
	switch {
	case infrastructure.APIGroup != infrav1.GroupVersion.Group || infrastructure.Kind != kind || infrastructure.Name != name:
		return fmt.Sprintf("its infrastructureRef names %s %q in %q", infrastructure.Kind, infrastructure.Name, infrastructure.APIGroup)
	case ref != nil && ref.UID != "" && ref.UID != owner.GetUID():
		return fmt.Sprintf("the owner reference is to the UID %s, and it has %s", ref.UID, owner.GetUID())
	case label != "" && label != cluster:
		return fmt.Sprintf("it belongs to cluster %q, and the label %s says %q", cluster, clusterv1.ClusterNameLabel, label)
	default:
		return ""
	}
}

func gone(kind, namespace, name string) *Gate {
	return wrong(infrav1.OwnerNotFoundReason,
		"%s %s/%s, which owns this object, does not exist any more: restore it, or delete this object", kind, namespace, name)
}

// ownerReference returns the reference to a Cluster API object of the kind.
func ownerReference(obj client.Object, kind string) *metav1.OwnerReference {
	refs := obj.GetOwnerReferences()
	i := slices.IndexFunc(refs, func(ref metav1.OwnerReference) bool {
		return ref.Kind == kind && group(ref) == clusterv1.GroupVersion.Group
	})
	if i < 0 {
		return nil
	}
	return &refs[i]
}

// group returns the API group of a reference.
func group(ref metav1.OwnerReference) string {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return ""
	}
	return gv.Group
}

func kindOf(obj infrav1.Workspace) string { return obj.Role().Kind() }
