package state

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestJudge is B-432 and B-434 as a table.
func TestJudge(t *testing.T) {
	ours := Lock{ID: "1", Info: &LockInfo{ID: "1"}, Holder: &Holder{Job: "j", Pod: "p", PodUID: "u"}, Renewed: epoch}
	with := func(change func(*Lock)) Lock {
		l := ours
		change(&l)
		return l
	}
	for name, test := range map[string]struct {
		lock    Lock
		after   time.Duration
		foreign bool // the Job is not one of the object's
		pod     PodState
		want    Verdict
	}{
		"gone, 60 s":          {ours, time.Minute, false, PodGone, VerdictStale},
		"ended, 60 s":         {ours, time.Minute, false, PodEnded, VerdictStale},
		"gone, 59 s":          {ours, 59 * time.Second, false, PodGone, VerdictLive},
		"alive, an hour":      {ours, time.Hour, false, PodAlive, VerdictLive},
		"unknown, an hour":    {ours, time.Hour, false, PodUnknown, VerdictLive},
		"clock behind":        {ours, -time.Hour, false, PodGone, VerdictLive},
		"another's Job":       {ours, time.Hour, true, PodGone, VerdictForeign},
		"no broker":           {with(func(l *Lock) { l.Holder = nil }), time.Hour, false, PodGone, VerdictForeign},
		"unparsable info":     {with(func(l *Lock) { l.Info = nil }), time.Hour, false, PodGone, VerdictForeign},
		"no renewal":          {with(func(l *Lock) { l.Renewed = time.Time{} }), time.Hour, false, PodGone, VerdictForeign},
		"no renewal but live": {with(func(l *Lock) { l.Renewed = time.Time{} }), time.Hour, false, PodAlive, VerdictForeign},
	} {
		if got := test.lock.Judge(epoch.Add(test.after), !test.foreign, test.pod); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestPodState(t *testing.T) {
	pod := func(phase corev1.PodPhase, terminating bool) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Status: corev1.PodStatus{Phase: phase}}
		if terminating {
			p.DeletionTimestamp = new(metav1.Now())
		}
		return p
	}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		uid  types.UID
		want PodState
	}{
		"none":                {nil, "u", PodGone},
		"another of its name": {pod(corev1.PodRunning, false), "other", PodGone},
		"running":             {pod(corev1.PodRunning, false), "u", PodAlive},
		"pending":             {pod(corev1.PodPending, false), "u", PodAlive},
		"terminating":         {pod(corev1.PodRunning, true), "u", PodAlive},
		"succeeded":           {pod(corev1.PodSucceeded, false), "u", PodEnded},
		"failed":              {pod(corev1.PodFailed, true), "u", PodEnded},
		"unknown to its node": {pod(corev1.PodUnknown, false), "u", PodAlive},
	} {
		if got := PodStateOf(test.pod, test.uid); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestForeignMessage carries a command that can be pasted, whatever the ID (D12).
func TestForeignMessage(t *testing.T) {
	for id, want := range map[string]string{
		"6a9c-1": " kubectl annotate --overwrite terraformcluster -n ns prod captf.io/force-unlock=6a9c-1",
		"a;b'c":  ` captf.io/force-unlock='a;b'\''c'`,
		"":       " captf.io/force-unlock=''",
	} {
		l := &Lock{ID: id, Info: &LockInfo{ID: id, Who: "me@host", Operation: "OperationTypeApply", Created: "2026-01-02T03:04:05Z"}}
		got := l.ForeignMessage("terraformcluster", "ns", "prod")
		if !strings.HasSuffix(got, want) || !strings.Contains(got, "by me@host since 2026-01-02T03:04:05Z") {
			t.Errorf("%q: %s", id, got)
		}
	}
}

// TestLock takes, renews and frees a lock against the API server.
func TestLock(t *testing.T) {
	s, k, ctx := newStore(t), newKey(t), t.Context()
	clk := clocktesting.NewFakePassiveClock(epoch)
	s.Clock = clk
	info := &LockInfo{ID: "id-1", Operation: "OperationTypeApply", Who: "u@h", Created: epoch.Format(time.RFC3339)}
	me, other := Holder{Job: "job-1", Pod: "pod-1", PodUID: "uid-1"}, Holder{Job: "job-2", Pod: "pod-2", PodUID: "uid-2"}

	if l, err := s.Lock(ctx, k); l != nil || err != nil {
		t.Fatalf("a lock that was never taken: %v, %v", l, err)
	}
	if did, err := s.ForceUnlock(ctx, k, "id-1"); did || err != nil {
		t.Fatalf("freeing it: %v, %v", did, err)
	}
	for range 2 { // taking it twice is a repeat
		if err := s.Acquire(ctx, k, info, &me); err != nil {
			t.Fatal(err)
		}
	}
	l, err := s.Lock(ctx, k)
	if err != nil || l.ID != "id-1" || l.Holder == nil || *l.Holder != me || !l.Renewed.Equal(epoch) || *l.Info != *info {
		t.Fatalf("read %+v, %v", l, err)
	}
	var lease coordinationv1.Lease
	if err := s.Live.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: "lock-tfstate-default-" + k.Suffix}, &lease); err != nil {
		t.Fatal(err)
	}
	if _, ok := lease.Labels["clusterctl.cluster.x-k8s.io/move"]; ok || lease.Labels["tfstate"] != "true" || lease.Labels["captf.io/managed"] != "true" {
		t.Errorf("the Lease has the labels %v", lease.Labels)
	}
	var held *Held
	if err := s.Acquire(ctx, k, &LockInfo{ID: "id-2"}, &other); !errors.As(err, &held) || held.Lock.ID != "id-1" || !strings.Contains(err.Error(), "pod-1") {
		t.Errorf("taking a held lock: %v", err)
	}
	if err := s.Acquire(ctx, k, info, &other); !errors.As(err, &held) {
		t.Errorf("another pod took the lock by its ID: %v", err)
	}
	clk.SetTime(epoch.Add(time.Minute))
	if err := s.Renew(ctx, k, "id-1", me); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Holds(ctx, k, "id-1", me); err != nil || !l.Renewed.Equal(epoch.Add(time.Minute)) {
		t.Errorf("renewed %v, %v", l, err)
	}
	for _, err := range []error{s.Renew(ctx, k, "id-1", other), s.Renew(ctx, k, "id-2", me), func() error { _, err := s.Holds(ctx, k, "", me); return err }()} {
		if !errors.Is(err, ErrLockLost) {
			t.Errorf("renewed by somebody else: %v", err)
		}
	}
	if did, err := s.Unlock(ctx, k, "id-2", nil); did || err != nil {
		t.Errorf("freeing it by another ID: %v, %v", did, err)
	}
	no := errors.New("no")
	if did, err := s.Unlock(ctx, k, "id-1", func(*Lock) error { return no }); did || !errors.Is(err, no) {
		t.Errorf("freeing it without permission: %v, %v", did, err)
	}
	if did, err := s.Unlock(ctx, k, "id-1", nil); !did || err != nil {
		t.Errorf("freeing it: %v, %v", did, err)
	}
	if l, err := s.Lock(ctx, k); l != nil || err != nil {
		t.Errorf("after it was freed: %v, %v", l, err)
	}
	if err := s.Renew(ctx, k, "id-1", me); !errors.Is(err, ErrLockLost) {
		t.Errorf("renewing a free lock: %v", err)
	}
	if err := s.Acquire(ctx, k, &LockInfo{ID: "id-3"}, nil); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Lock(ctx, k); err != nil || l.Holder != nil || l.ID != "id-3" {
		t.Errorf("a person's lock: %+v, %v", l, err)
	}
	for range 2 {
		if err := s.DeleteLock(ctx, k); err != nil {
			t.Error(err)
		}
	}
}

// TestLeftAnnotations takes a lock for foreign that a stock client wrote on a Lease with our annotations: force-unlock of a
// stock client leaves them there.
func TestLeftAnnotations(t *testing.T) {
	s, k, ctx := newStore(t), newKey(t), t.Context()
	if err := s.Acquire(ctx, k, &LockInfo{ID: "id-1"}, &Holder{Job: "j", Pod: "p", PodUID: "u"}); err != nil {
		t.Fatal(err)
	}
	var lease coordinationv1.Lease
	if err := s.Live.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: k.Lease()}, &lease); err != nil {
		t.Fatal(err)
	}
	lease.Spec.HolderIdentity = new("id-2")
	lease.Annotations[annotationLockInfo] = `{"ID":"id-2","Who":"me"}`
	if err := s.Writer.Update(ctx, &lease); err != nil {
		t.Fatal(err)
	}
	l, err := s.Lock(ctx, k)
	if err != nil || l.Holder != nil || l.Judge(s.Clock.Now().Add(time.Hour), true, PodGone) != VerdictForeign {
		t.Errorf("read %+v, %v", l, err)
	}
	lease.Annotations[annotationLockInfo] = `{"ID":`
	if err := s.Writer.Update(ctx, &lease); err != nil {
		t.Fatal(err)
	}
	if l, err = s.Lock(ctx, k); err != nil || l.Info != nil || l.ID != "id-2" {
		t.Errorf("read %+v, %v", l, err)
	}
	if did, err := s.ForceUnlock(ctx, k, "id-2"); !did || err != nil {
		t.Errorf("freeing it: %v, %v", did, err)
	}
}

// FuzzLockInfo holds that what is read is kept, and can be used as an ID.
func FuzzLockInfo(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `{"ID":"a"}`, `{"ID":"a b"}`, `{"ID":1}`, `{"ID":"6a9c","Operation":"OperationTypeApply","Who":"u@h","Created":"2026-01-02T03:04:05Z"}`,
		`{"ID":"a","Created":"yesterday"}`, "{\"ID\":\"\x00\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		info, err := ParseLockInfo(raw)
		if err != nil {
			return
		}
		again, err := json.Marshal(info)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseLockInfo(again)
		if err != nil || *back != *info {
			t.Fatalf("%+v became %+v, %v", info, back, err)
		}
		for _, r := range info.ID {
			if r <= ' ' || r > '~' {
				t.Fatalf("ID %q", info.ID)
			}
		}
	})
}
