// Package lease keeps Jobs apart: one Job of an object at a time, and the operations of a cluster from those of its
// machines and pools (provider-ops.md 6.1, B-210..B-224).
//
// The holder of a Lease is the Job that is about to be created. Nothing renews a Lease: whether it still counts is read
// from the Job itself, and a Lease without its Job counts for a minute only, so that a manager that died between taking
// it and creating the Job blocks nobody for long.
//
// Not in this package: the lock of a state, which the broker holds and renews (provider/internal/state), and the election
// of the leading manager (controller-runtime).
package lease

import (
	"context"
	"fmt"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// Kind is the value of the label captf.io/lease.
type Kind string

const (
	// KindRun is the Lease of one object.
	KindRun Kind = "run"
	// KindCluster is the Lease that a cluster holds against its machines and pools.
	KindCluster Kind = "cluster"
)

const (
	// Grace is how long a Lease counts whose Job does not exist (B-215).
	Grace = time.Minute
	// terminationGrace and slack are added to a Job's deadline for the time after which a Lease counts no more, whatever
	// else is known (B-213).
	terminationGrace = 600 * time.Second
	slack            = 300 * time.Second
)

// Store takes and gives back Leases. Reads are live: a decision from a cache could let two Jobs run.
type Store struct {
	// Writer writes Leases.
	Writer client.Writer
	// Live reads Leases and Jobs from the API server.
	Live client.Reader
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Request is a Lease to be taken.
type Request struct {
	Namespace string
	// Name of the Lease: names.RunLease or names.ClusterLease.
	Name string
	Kind Kind
	// Holder is the name of the Job that is about to be created.
	Holder string
	// Operation of the Job.
	Operation infrav1.Operation
	// OwnerKind and OwnerName are the object of the Job, Cluster its cluster, "" if unknown.
	OwnerKind, OwnerName, Cluster string
	// Deadline of the Job.
	Deadline time.Duration
}

// Taken is what came of a Request.
type Taken struct {
	// Held tells that the Lease is the requester's.
	Held bool
	// By is the Job that holds it instead, or "" if another manager took it at the same moment (B-216).
	By string
}

// Acquire takes a Lease, or takes it over if it is free (B-214, B-215). Taking one that the holder has already is no write
// and starts its grace anew only once half of it is over.
func (s *Store) Acquire(ctx context.Context, r Request) (Taken, error) {
	now := s.Clock.Now()
	lease := &coordinationv1.Lease{}
	err := s.Live.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Name}, lease)
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}}
		r.fill(lease, now)
		return taken(s.Writer.Create(ctx, lease), "taking lease", r)
	}
	if err != nil {
		return Taken{}, fmt.Errorf("reading lease %s/%s: %w", r.Namespace, r.Name, err)
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder == r.Holder && now.Sub(acquired(lease)) < Grace/2 {
		return Taken{Held: true}, nil
	}
	if holder != r.Holder {
		live, err := s.Alive(ctx, lease)
		if err != nil {
			return Taken{}, err
		}
		if live {
			return Taken{By: holder}, nil
		}
	}
	r.fill(lease, now)
	return taken(s.Writer.Update(ctx, lease), "taking over lease", r)
}

// taken tells a lost race from a failure.
func taken(err error, what string, r Request) (Taken, error) {
	switch {
	case err == nil:
		return Taken{Held: true}, nil
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		return Taken{}, nil
	default:
		return Taken{}, fmt.Errorf("%s %s/%s: %w", what, r.Namespace, r.Name, err)
	}
}

func (r Request) fill(lease *coordinationv1.Lease, now time.Time) {
	if lease.Labels == nil {
		lease.Labels = map[string]string{}
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Labels[infrav1.LabelLease] = string(r.Kind)
	lease.Labels[infrav1.LabelManaged] = "true"
	lease.Labels[infrav1.LabelOwnerKind] = r.OwnerKind
	lease.Labels[infrav1.LabelOwnerName] = names.LabelValue(r.OwnerName)
	if r.Cluster != "" {
		lease.Labels[infrav1.LabelCluster] = names.LabelValue(r.Cluster)
	}
	lease.Annotations[infrav1.AnnotationLeaseOperation] = string(r.Operation)
	lease.Annotations[infrav1.AnnotationLeaseAcquired] = now.UTC().Format(time.RFC3339)
	lease.Spec.HolderIdentity = &r.Holder
	seconds := min(int64((r.Deadline+terminationGrace+slack)/time.Second), math.MaxInt32)
	lease.Spec.LeaseDurationSeconds = new(int32(seconds)) //nolint:gosec // bounded in the line before
	lease.Spec.AcquireTime = new(metav1.NewMicroTime(now))
}

// acquired is when a Lease was taken; a Lease that does not say so counts as old.
func acquired(lease *coordinationv1.Lease) time.Time {
	if lease.Spec.AcquireTime == nil {
		return lease.CreationTimestamp.Time
	}
	return lease.Spec.AcquireTime.Time
}

// Alive tells whether a Lease still counts: its Job runs, or was about to be created less than a minute ago; and it is not
// older than its Job could be (B-215). A Job that is suspended may go on at any time, and then has its deadline from there.
func (s *Store) Alive(ctx context.Context, lease *coordinationv1.Lease) (bool, error) {
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder == "" {
		return false, nil
	}
	age, most := s.Clock.Since(acquired(lease)), time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 4500))*time.Second
	job := &batchv1.Job{}
	err := s.Live.Get(ctx, client.ObjectKey{Namespace: lease.Namespace, Name: holder}, job)
	if apierrors.IsNotFound(err) {
		return age < Grace, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading job %s/%s, which holds lease %s: %w", lease.Namespace, holder, lease.Name, err)
	}
	switch start := job.Status.StartTime; {
	case Finished(job):
		return false, nil
	case ptr.Deref(job.Spec.Suspend, false):
		return true, nil
	case start != nil && start.After(acquired(lease)):
		age = s.Clock.Since(start.Time)
	}
	return age <= most, nil
}

// Finished tells that a Job has ended.
func Finished(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == "True" {
			return true
		}
	}
	return false
}

// Get returns a Lease if it is there and alive, else nil.
func (s *Store) Get(ctx context.Context, namespace, name string) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	err := s.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, lease)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading lease %s/%s: %w", namespace, name, err)
	}
	alive, err := s.Alive(ctx, lease)
	if err != nil || !alive {
		return nil, err
	}
	return lease, nil
}

// Members returns the living run Leases of a cluster's machines and pools that were taken for an operation that a cluster
// must not run beside: apply, destroy or restore (B-217).
func (s *Store) Members(ctx context.Context, namespace, cluster string) ([]coordinationv1.Lease, error) {
	list := &coordinationv1.LeaseList{}
	if err := s.Live.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{
		infrav1.LabelLease: string(KindRun), infrav1.LabelCluster: names.LabelValue(cluster),
	}); err != nil {
		return nil, fmt.Errorf("listing run leases of cluster %s/%s: %w", namespace, cluster, err)
	}
	var members []coordinationv1.Lease
	for i := range list.Items {
		lease := &list.Items[i]
		if lease.Labels[infrav1.LabelOwnerKind] == "TerraformCluster" || !Gated(infrav1.Operation(lease.Annotations[infrav1.AnnotationLeaseOperation])) {
			continue
		}
		alive, err := s.Alive(ctx, lease)
		if err != nil {
			return nil, err
		}
		if alive {
			members = append(members, *lease)
		}
	}
	return members, nil
}

// Gated tells that an operation of a cluster excludes those of its machines and pools, and the other way round (B-217..B-219).
func Gated(op infrav1.Operation) bool {
	return op == infrav1.OperationApply || op == infrav1.OperationDestroy || op == infrav1.OperationRestore
}

// Release gives a Lease back if the holder has it. One that is gone, or that somebody else has taken, is left alone (B-222).
func (s *Store) Release(ctx context.Context, namespace, name, holder string) error {
	lease := &coordinationv1.Lease{}
	err := s.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, lease)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading lease %s/%s: %w", namespace, name, err)
	}
	if ptr.Deref(lease.Spec.HolderIdentity, "") != holder {
		return nil
	}
	return s.delete(ctx, lease)
}

// ReleaseAll deletes every Lease that was taken for an object; it is for the end of the object.
func (s *Store) ReleaseAll(ctx context.Context, namespace, ownerKind, ownerName string) error {
	list := &coordinationv1.LeaseList{}
	if err := s.Live.List(ctx, list, client.InNamespace(namespace), client.HasLabels{infrav1.LabelLease}, client.MatchingLabels{
		infrav1.LabelOwnerKind: ownerKind, infrav1.LabelOwnerName: names.LabelValue(ownerName),
	}); err != nil {
		return fmt.Errorf("listing leases of %s %s/%s: %w", ownerKind, namespace, ownerName, err)
	}
	for i := range list.Items {
		if err := s.delete(ctx, &list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) delete(ctx context.Context, lease *coordinationv1.Lease) error {
	err := s.Writer.Delete(ctx, lease, client.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("giving back lease %s/%s: %w", lease.Namespace, lease.Name, err)
}
