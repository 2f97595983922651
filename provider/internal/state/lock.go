package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

const (
	// RenewEvery is how often a broker renews the lock it holds (B-430).
	RenewEvery = 10 * time.Second
	// StaleAfter is how long ago the last renewal of a stale lock is at least (B-432).
	StaleAfter = 60 * time.Second

	annotationLockInfo = "app.terraform.io/lock-info"
	// The annotations below are the broker's. A stock client that unlocks or locks leaves them in place, so the first names
	// the lock that they are about.
	annotationLockID     = "captf.io/lock-id"
	annotationLockJob    = "captf.io/lock-job"
	annotationLockPod    = "captf.io/lock-pod"
	annotationLockPodUID = "captf.io/lock-pod-uid"

	maxLockInfo = 64 << 10
	maxLockID   = 256
)

// LockInfo is what a runtime says of a lock it wants, in the format of both runtimes (B-430).
type LockInfo struct {
	ID        string `json:"ID"`
	Operation string `json:"Operation"`
	Info      string `json:"Info"`
	Who       string `json:"Who"`
	Version   string `json:"Version"`
	// Created is when, RFC 3339; "" if that was not readable, since the runtimes refuse the whole then.
	Created string `json:"Created,omitempty"`
	Path    string `json:"Path"`
}

// OperationPush is the Operation of `state push`, which compares serials and lineages by itself.
const OperationPush = "state-push"

// ParseLockInfo reads lock info. Fields that it does not know are dropped. The error says what is wrong without quoting
// it.
func ParseLockInfo(raw []byte) (*LockInfo, error) {
	if len(raw) > maxLockInfo {
		return nil, fmt.Errorf("the lock info has %d bytes, and at most %d are read", len(raw), maxLockInfo)
	}
	var info LockInfo
	if err := json.Unmarshal(raw, &info); err != nil {
		return nil, fmt.Errorf("the lock info is not a JSON object of the runtimes: %s", position(err))
	}
	if info.ID == "" {
		return nil, errors.New("the lock info has no ID")
	}
	if len(info.ID) > maxLockID {
		return nil, fmt.Errorf("the lock's ID has %d bytes, and at most %d are read", len(info.ID), maxLockID)
	}
	for _, r := range info.ID {
		if r <= ' ' || r > '~' {
			return nil, errors.New("the lock's ID has characters other than printable ASCII")
		}
	}
	if _, err := time.Parse(time.RFC3339, info.Created); err != nil {
		info.Created = ""
	}
	return &info, nil
}

// Holder is the run that a broker holds a lock for.
type Holder struct {
	Job    string
	Pod    string
	PodUID types.UID
}

// Lock is a lock that somebody holds.
type Lock struct {
	// ID is the lock's: that of its info, else the Lease's holder.
	ID string
	// Info is what its holder said; nil if that cannot be read.
	Info *LockInfo
	// Holder is the run of the broker that wrote the lock; nil if another client wrote it.
	Holder *Holder
	// Renewed is when the broker renewed it, else when it was taken; zero if unknown.
	Renewed time.Time

	holderIdentity string
}

// is tells whether an ID means this lock.
func (l *Lock) is(id string) bool { return id != "" && (l.ID == id || l.holderIdentity == id) }

// Held is the error of taking a lock that another holds.
type Held struct{ Lock *Lock }

// Error names the holder.
func (h *Held) Error() string { return "the state is locked: " + h.Lock.String() }

// String describes a lock in a sentence.
func (l *Lock) String() string {
	s := "lock " + l.ID
	if l.Info != nil {
		if l.Info.Operation != "" {
			s += " for " + l.Info.Operation
		}
		if l.Info.Who != "" {
			s += " by " + l.Info.Who
		}
		if l.Info.Created != "" {
			s += " since " + l.Info.Created
		}
	}
	if l.Holder != nil {
		s += fmt.Sprintf(", held by pod %s of Job %s", l.Holder.Pod, l.Holder.Job)
	}
	return s
}

// Verdict is what may be done about a lock.
type Verdict string

const (
	// VerdictLive is a lock of a run of this object that goes on, or may go on. It is never broken.
	VerdictLive Verdict = "Live"
	// VerdictStale is a lock whose run provably ended; the next run breaks it (B-433).
	VerdictStale Verdict = "Stale"
	// VerdictForeign is a lock of another client, or one that cannot be understood; only a user breaks it (B-434).
	VerdictForeign Verdict = "Foreign"
)

// PodState is what is known of the pod that holds a lock.
type PodState string

const (
	// PodUnknown is that the pod could not be read; it counts as alive.
	PodUnknown PodState = ""
	// PodAlive is that it exists and has not ended; a terminating pod is alive.
	PodAlive PodState = "Alive"
	// PodGone is that no pod of that name and UID exists.
	PodGone PodState = "Gone"
	// PodEnded is that it succeeded or failed.
	PodEnded PodState = "Ended"
)

// PodStateOf judges a pod that was read live by the name in a lock, nil if there is none, against the UID in the lock.
func PodStateOf(pod *corev1.Pod, uid types.UID) PodState {
	switch {
	case pod == nil || pod.UID != uid:
		return PodGone
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return PodEnded
	}
	return PodAlive
}

// Judge decides what may be done about a lock (B-432, B-434). ownJob tells whether the Job in the lock is one of the
// object's.
func (l *Lock) Judge(now time.Time, ownJob bool, pod PodState) Verdict {
	switch {
	case l.Holder == nil || l.Info == nil || !ownJob || l.Renewed.IsZero():
		return VerdictForeign
	case (pod == PodGone || pod == PodEnded) && now.Sub(l.Renewed) >= StaleAfter:
		return VerdictStale
	}
	return VerdictLive
}

// ForeignMessage is the message of the condition for a foreign lock, with the command that frees it (B-434, B-436, design
// D12). The resource is such as terraformcluster.
func (l *Lock) ForeignMessage(resource, namespace, name string) string {
	return fmt.Sprintf("%s, which no run of this object took: end what holds it, or if that is gone free it with:"+
		" kubectl annotate --overwrite %s -n %s %s %s=%s", l, resource, namespace, name, infrav1.AnnotationForceUnlock, shellQuote(l.ID))
}

// shellQuote quotes what is not plain, since an ID is anybody's text.
func shellQuote(s string) string {
	plain := s != ""
	for _, r := range s {
		plain = plain && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	}
	if plain {
		return s
	}
	q := "'"
	for _, r := range s {
		if r == '\'' {
			q += `'\''`
		} else {
			q += string(r)
		}
	}
	return q + "'"
}

// Lock reads the lock of a state; nil if it is free.
func (s *Store) Lock(ctx context.Context, k Key) (*Lock, error) {
	lease, err := s.lease(ctx, k)
	if err != nil || lease == nil {
		return nil, err
	}
	return lockOf(lease), nil
}

func (s *Store) lease(ctx context.Context, k Key) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	err := s.Live.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: k.Lease()}, lease)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading lock Lease %s/%s: %w", k.Namespace, k.Lease(), err)
	}
	return lease, nil
}

// lockOf reads the lock in a Lease; nil if it is free.
func lockOf(lease *coordinationv1.Lease) *Lock {
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder == "" {
		return nil
	}
	l := &Lock{ID: holder, holderIdentity: holder}
	if info, err := ParseLockInfo([]byte(lease.Annotations[annotationLockInfo])); err == nil {
		l.Info, l.ID = info, info.ID
	}
	if lease.Annotations[annotationLockID] != holder || lease.Annotations[annotationLockPodUID] == "" || lease.Annotations[annotationLockJob] == "" {
		return l
	}
	l.Holder = &Holder{
		Job: lease.Annotations[annotationLockJob], Pod: lease.Annotations[annotationLockPod],
		PodUID: types.UID(lease.Annotations[annotationLockPodUID]),
	}
	if t := lease.Spec.RenewTime; t != nil {
		l.Renewed = t.Time
	} else if t := lease.Spec.AcquireTime; t != nil {
		l.Renewed = t.Time
	}
	return l
}

// Acquire takes the lock for a run, or for a person's push if by is nil. It is no error to have it already (B-440). The
// error is a *Held if another has it, ErrConflict if another took it at the same moment.
func (s *Store) Acquire(ctx context.Context, k Key, info *LockInfo, by *Holder) error {
	lease, err := s.lease(ctx, k)
	if err != nil {
		return err
	}
	fresh := lease == nil
	if fresh {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Lease(), Labels: k.leaseLabels()}}
	} else if held := lockOf(lease); held != nil {
		if held.holderIdentity == info.ID && (by == nil) == (held.Holder == nil) && (by == nil || held.Holder.PodUID == by.PodUID) {
			return nil
		}
		return &Held{Lock: held}
	}
	raw, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("encoding lock info: %w", err)
	}
	now := &metav1.MicroTime{Time: s.Clock.Now()}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: new(info.ID), AcquireTime: now, RenewTime: now}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[annotationLockInfo] = string(raw)
	maps.DeleteFunc(lease.Annotations, brokers)
	if by != nil {
		lease.Spec.LeaseDurationSeconds = new(int32(StaleAfter / time.Second))
		lease.Annotations[annotationLockID] = info.ID
		lease.Annotations[annotationLockJob] = by.Job
		lease.Annotations[annotationLockPod] = by.Pod
		lease.Annotations[annotationLockPodUID] = string(by.PodUID)
	}
	if fresh {
		err = s.Writer.Create(ctx, lease)
	} else {
		err = s.Writer.Update(ctx, lease)
	}
	return locking(k, err)
}

// brokers tells the annotations that say which run holds a lock.
func brokers(key, _ string) bool {
	switch key {
	case annotationLockID, annotationLockJob, annotationLockPod, annotationLockPodUID:
		return true
	}
	return false
}

func locking(k Key, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing lock Lease %s/%s: %w", k.Namespace, k.Lease(), conflict(err))
}

// Renew notes that a run still holds its lock. The error is ErrLockLost if it does not.
func (s *Store) Renew(ctx context.Context, k Key, id string, by Holder) error {
	lease, err := s.lease(ctx, k)
	if err != nil {
		return err
	}
	if lease == nil || !lockOf(lease).heldBy(id, by.PodUID) {
		return fmt.Errorf("renewing lock %s of state %s/%s: %w", id, k.Namespace, k.Secret(0), ErrLockLost)
	}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: s.Clock.Now()}
	return locking(k, s.Writer.Update(ctx, lease))
}

// heldBy tells whether a lock is this one of that run.
func (l *Lock) heldBy(id string, pod types.UID) bool {
	return l != nil && l.holderIdentity == id && l.Holder != nil && l.Holder.PodUID == pod
}

// Holds tells whether a run holds the lock with an ID now, and for which operation; the error is ErrLockLost if not.
func (s *Store) Holds(ctx context.Context, k Key, id string, by Holder) (*Lock, error) {
	l, err := s.Lock(ctx, k)
	if err != nil {
		return nil, err
	}
	if !l.heldBy(id, by.PodUID) {
		return nil, fmt.Errorf("looking for lock %q of state %s/%s: %w", id, k.Namespace, k.Secret(0), ErrLockLost)
	}
	return l, nil
}

// Unlock frees the lock if may allows it for the lock that is there, and tells whether it did. A lock that is free, or that
// another ID holds, is left as it is (B-435).
func (s *Store) Unlock(ctx context.Context, k Key, id string, may func(*Lock) error) (bool, error) {
	lease, err := s.lease(ctx, k)
	if err != nil || lease == nil {
		return false, err
	}
	l := lockOf(lease)
	if l == nil || !l.is(id) {
		return false, nil
	}
	if may != nil {
		if err := may(l); err != nil {
			return false, err
		}
	}
	// As the stock clients leave it: no holder at all; an empty one is a holder to them.
	lease.Spec.HolderIdentity, lease.Spec.AcquireTime, lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = nil, nil, nil, nil
	delete(lease.Annotations, annotationLockInfo)
	maps.DeleteFunc(lease.Annotations, brokers)
	if err := locking(k, s.Writer.Update(ctx, lease)); err != nil {
		return false, err
	}
	return true, nil
}

// ForceUnlock frees the lock with an ID whoever holds it, and tells whether it did (B-436). Whether that is allowed the
// caller finds out with Judge before.
func (s *Store) ForceUnlock(ctx context.Context, k Key, id string) (bool, error) {
	return s.Unlock(ctx, k, id, nil)
}

// DeleteLock deletes the Lease of a state that was deleted (B-870), free or not; the lock of a run that goes on is the
// caller's to respect. It is no error if there is none.
func (s *Store) DeleteLock(ctx context.Context, k Key) error {
	lease, err := s.lease(ctx, k)
	if err != nil || lease == nil {
		return err
	}
	err = s.Writer.Delete(ctx, lease, client.Preconditions{UID: new(lease.UID), ResourceVersion: new(lease.ResourceVersion)})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return locking(k, err)
}
