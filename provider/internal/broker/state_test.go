package broker

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/provider/internal/state"
)

// TestApplyWrites keeps what an apply overwrites in its middle without the hash of the inputs before; a check's run keeps it.
func TestApplyWrites(t *testing.T) {
	for _, apply := range []bool{true, false} {
		f := newFixture(t, func(c *Config) { c.Apply = apply })
		f.want(200, "LOCK", "/state", lockInfo("id-1", "OperationTypeApply"))
		f.want(200, "POST", "/state?ID=id-1", document(1, lineage, canary))
		hash := "h2:before"
		if _, err := f.Store.Adopt(t.Context(), f.Key, metav1.OwnerReference{Kind: "TerraformCluster", Name: "prod", UID: "1", APIVersion: "v1"},
			state.Marks{InputsHash: &hash, Settled: true}); err != nil {
			t.Fatal(err)
		}
		f.want(200, "POST", "/state?ID=id-1", document(2, lineage, canary+"2"))
		f.want(200, "POST", "/state?ID=id-1", document(3, lineage, canary+"3"))
		want := map[uint64]string{1: hash, 2: hash}
		if apply {
			want[2] = ""
		}
		sets, err := f.Store.Backups(t.Context(), f.Key)
		if err != nil || len(sets) != 2 {
			t.Fatalf("backups %+v, %v", sets, err)
		}
		for _, b := range sets {
			if b.InputsHash != want[b.Serial] {
				t.Errorf("apply=%v: the backup of serial %d names the inputs %q, want %q", apply, b.Serial, b.InputsHash, want[b.Serial])
			}
		}
	}
}

// TestProtocol is B-437..B-441 in one life of a state.
func TestProtocol(t *testing.T) {
	f := newFixture(t, nil)
	const first, second = `{"ID":"id-1"}`, `{"ID":"id-2"}`
	f.want(404, "GET", "/state", "")
	f.want(204, "GET", "/v1/problem", "")
	f.want(412, "POST", "/state", document(1, lineage, canary)) // nobody holds the lock
	f.want(400, "LOCK", "/state", "")
	f.want(400, "LOCK", "/state", `{"ID":""}`)
	f.want(200, "LOCK", "/state", lockInfo("id-1", "OperationTypeApply"))
	f.want(200, "LOCK", "/state", lockInfo("id-1", "OperationTypeApply")) // a repeat
	var holder state.LockInfo
	if err := json.Unmarshal([]byte(f.want(423, "LOCK", "/state", second)), &holder); err != nil || holder.ID != "id-1" || holder.Who != "u@h" {
		t.Errorf("the holder is %+v, %v", holder, err)
	}
	f.want(404, "GET", "/state", "") // still none

	f.want(412, "POST", "/state", document(1, lineage, canary))
	f.want(412, "POST", "/state?ID=id-2", document(1, lineage, canary))
	f.want(400, "POST", "/state?ID=id-1", document(1, lineage, canary), "Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==")
	f.want(200, "POST", "/state?ID=id-1", document(1, lineage, canary), "Content-MD5", sum([]byte(document(1, lineage, canary))))
	f.want(200, "POST", "/state?ID=id-1", document(1, lineage, canary)) // a repeat
	if got := f.want(200, "GET", "/state", ""); got != document(1, lineage, canary) {
		t.Error("what is read is not what was stored")
	}
	f.want(200, "POST", "/state?ID=id-1", document(3, lineage, canary))
	if sets, err := f.Store.Backups(t.Context(), f.Key); err != nil || len(sets) != 1 || sets[0].Serial != 1 || sets[0].Job != "job" {
		t.Errorf("backups %+v, %v", sets, err)
	}
	f.want(412, "POST", "/state?ID=id-1", document(2, lineage, canary))
	problem := f.want(200, "GET", "/v1/problem", "")
	if !strings.Contains(problem, "its serial is 2, that of the stored one is 3") {
		t.Errorf("the problem is %s", problem)
	}
	f.want(412, "POST", "/state?ID=id-1", document(4, "other", canary))
	f.want(412, "POST", "/state?ID=id-1", document(3, lineage, canary+"2"))
	f.want(422, "POST", "/state?ID=id-1", "{"+canary)
	f.want(422, "POST", "/state?ID=id-1", `{"encryption_version":"v0","x":"`+canary+`"}`)
	f.want(422, "POST", "/state?ID=id-1", "")
	f.want(413, "POST", "/state?ID=id-1", strings.Repeat(" ", state.MaxBytes+1))
	f.want(413, "LOCK", "/state", strings.Repeat(" ", maxLock+1))
	f.want(405, "DELETE", "/state", "")
	f.want(405, "PUT", "/state", document(4, lineage, canary))

	f.want(200, "UNLOCK", "/state", second) // not held under that ID: left alone (B-435)
	f.want(200, "POST", "/state?ID=id-1", document(4, lineage, canary))
	f.want(400, "UNLOCK", "/state", "")
	f.want(400, "UNLOCK", "/state", "{")
	f.want(200, "UNLOCK", "/state?id=id-1", "") // as Terraform's force-unlock
	f.want(200, "UNLOCK", "/state", first)      // a repeat
	f.want(412, "POST", "/state?ID=id-1", document(5, lineage, canary))

	// A lock that claims to be that of a person who pushes a state grants no more than another.
	f.want(200, "LOCK", "/state", lockInfo("id-3", state.OperationPush))
	f.want(412, "POST", "/state?ID=id-3", document(5, "other", canary))
	f.want(412, "POST", "/state?ID=id-3", document(1, lineage, canary))
	f.want(200, "UNLOCK", "/state", `{"ID":"id-3"}`)
	if st, err := f.Store.Read(t.Context(), f.Key); err != nil || st.Serial != 4 || st.Lineage != lineage {
		t.Errorf("read %+v, %v", st, err)
	}
	f.want(404, "GET", "/", "")
	f.want(404, "GET", "/state/other", "")
}

// TestPassword lets nobody in without it.
func TestPassword(t *testing.T) {
	f := newFixture(t, nil)
	f.want(200, "LOCK", "/state", lockInfo("id-1", ""))
	f.want(200, "POST", "/state?ID=id-1", document(1, lineage, canary))
	for name, session := range map[string]*Session{
		"none": nil, "wrong": {Username: Username, Password: "wrong"}, "empty": {Username: Username},
		"wrong name": {Username: "other", Password: f.session.Password}, "longer": {Username: Username, Password: f.session.Password + "x"},
	} {
		for _, call := range []string{
			"GET /state", "POST /state?ID=id-1", "LOCK /state", "UNLOCK /state?id=id-1", "POST /v1/plan", "POST /v1/event", "PUT /v1/result",
			"GET /v1/problem", "GET /other", "DELETE /state",
		} {
			method, path, _ := strings.Cut(call, " ")
			got, answer := request(t, session, method, f.url+path, document(2, lineage, canary))
			if got != http.StatusUnauthorized || strings.Contains(answer, canary) {
				t.Errorf("%s, password %s: %d %s", call, name, got, answer)
			}
		}
		if got, _ := request(t, session, "GET", f.url+"/healthz", ""); got != http.StatusOK {
			t.Errorf("healthz: %d", got)
		}
	}
	if st, err := f.Store.Read(t.Context(), f.Key); err != nil || st.Serial != 1 {
		t.Errorf("the state is %+v, %v", st, err)
	}
}

// TestUnlockOthers never breaks a lock of a run that may go on, nor one of a stock client.
func TestUnlockOthers(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	other := &state.Holder{Job: "job-0", Pod: "pod-0", PodUID: "uid-0"}
	if err := f.Store.Acquire(ctx, f.Key, &state.LockInfo{ID: "id-0"}, other); err != nil {
		t.Fatal(err)
	}
	f.clock.Step(state.StaleAfter - time.Second)
	if answer := f.want(423, "UNLOCK", "/state", `{"ID":"id-0"}`); !strings.Contains(answer, "id-0") {
		t.Errorf("the holder is %s", answer)
	}
	if l, err := f.Store.Lock(ctx, f.Key); err != nil || l == nil {
		t.Fatalf("the lock is %+v, %v", l, err)
	}
	f.clock.Step(time.Second)
	f.want(200, "UNLOCK", "/state", `{"ID":"id-0"}`)
	if l, err := f.Store.Lock(ctx, f.Key); err != nil || l != nil {
		t.Fatalf("the lock is %+v, %v", l, err)
	}
	if err := f.Store.Acquire(ctx, f.Key, &state.LockInfo{ID: "id-0"}, nil); err != nil {
		t.Fatal(err)
	}
	f.clock.Step(time.Hour)
	f.want(423, "UNLOCK", "/state?id=id-0", "")
	if l, err := f.Store.Lock(ctx, f.Key); err != nil || l == nil {
		t.Errorf("the lock is %+v, %v", l, err)
	}
	// A lock that was taken away is noticed before anything is written.
	if _, err := f.Store.ForceUnlock(ctx, f.Key, "id-0"); err != nil {
		t.Fatal(err)
	}
	f.want(200, "LOCK", "/state", lockInfo("id-1", "OperationTypeApply"))
	f.want(200, "POST", "/state?ID=id-1", document(1, lineage, canary))
	if _, err := f.Store.ForceUnlock(ctx, f.Key, "id-1"); err != nil {
		t.Fatal(err)
	}
	f.want(412, "POST", "/state?ID=id-1", document(2, lineage, canary))
	if err := f.Store.Acquire(ctx, f.Key, &state.LockInfo{ID: "id-1"}, other); err != nil { // the same ID, of another pod
		t.Fatal(err)
	}
	f.want(412, "POST", "/state?ID=id-1", document(2, lineage, canary))
}

// TestRenewal renews the lock that is held, and no other, also after the broker started anew.
func TestRenewal(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	renewed := func(s *Server) time.Time {
		t.Helper()
		f.clock.Step(time.Second)
		s.renewOnce(ctx)
		l, err := f.Store.Lock(ctx, f.Key)
		if err != nil || l == nil {
			t.Fatalf("the lock is %+v, %v", l, err)
		}
		return l.Renewed
	}
	same := func(a, b time.Time) bool { return a.Sub(b).Abs() < time.Millisecond } // Leases have microseconds
	f.renewOnce(ctx)
	f.want(200, "LOCK", "/state", lockInfo("id-1", "OperationTypeApply"))
	if got := renewed(f.Server); !same(got, f.clock.Now()) {
		t.Errorf("renewed at %v, want %v", got, f.clock.Now())
	}
	again := New(f.Config)
	if got := renewed(again); !same(got, f.clock.Now()) || again.held != "id-1" {
		t.Errorf("a broker that started anew renewed %q at %v", again.held, got)
	}
	if _, err := f.Store.ForceUnlock(ctx, f.Key, "id-1"); err != nil {
		t.Fatal(err)
	}
	before := f.clock.Now()
	if err := f.Store.Acquire(ctx, f.Key, &state.LockInfo{ID: "id-2"}, &state.Holder{Job: "j", Pod: "p", PodUID: "u"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := renewed(again); !same(got, before) || again.held != "" {
			t.Errorf("somebody else's lock was renewed at %v", got)
		}
	}
	if got := renewed(New(f.Config)); !same(got, before) {
		t.Errorf("somebody else's lock was renewed at %v by a new broker", got)
	}
}

// failing is a client whose calls fail, or wait, as a test says.
type failing struct {
	client.Client
	mu   sync.Mutex
	list func() error
	put  func() error
}

func (c *failing) call(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

func (c *failing) List(ctx context.Context, l client.ObjectList, o ...client.ListOption) error {
	c.mu.Lock()
	f := c.list
	c.mu.Unlock()
	if err := c.call(f); err != nil {
		return err
	}
	return c.Client.List(ctx, l, o...)
}

func (c *failing) Create(ctx context.Context, obj client.Object, o ...client.CreateOption) error {
	c.mu.Lock()
	f := c.put
	c.mu.Unlock()
	if err := c.call(f); err != nil {
		return err
	}
	return c.Client.Create(ctx, obj, o...)
}

func (c *failing) set(list, put func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.put = list, put
}

// withFailing puts a failing client before the broker's.
func withFailing(t *testing.T) (*fixture, *failing) {
	c := &failing{}
	return newFixture(t, func(config *Config) {
		c.Client = config.Client
		config.Client, config.Store.Writer, config.Store.Live = c, c, c
	}), c
}

// TestAPIServer maps what the API server says to what the runtimes may repeat, and what not (B-440).
func TestAPIServer(t *testing.T) {
	f, c := withFailing(t)
	f.want(200, "LOCK", "/state", lockInfo("id-1", "OperationTypeApply"))
	secrets := schema.GroupResource{Resource: "secrets"}
	for name, test := range map[string]struct {
		err  error
		want int
	}{
		"broken":      {errors.New("connection refused"), 503},
		"busy":        {apierrors.NewTooManyRequestsError("busy"), 503},
		"down":        {apierrors.NewInternalError(errors.New("etcd")), 503},
		"forbidden":   {apierrors.NewForbidden(secrets, "x", errors.New("rbac")), 403},
		"conflict":    {apierrors.NewConflict(secrets, "x", errors.New("changed")), 503},
		"exists":      {apierrors.NewAlreadyExists(secrets, "x"), 503},
		"invalid":     {apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(), "x", nil), 422},
		"too large":   {apierrors.NewRequestEntityTooLargeError("x"), 422},
		"token stale": {apierrors.NewUnauthorized("x"), 503},
	} {
		c.set(nil, func() error { return test.err })
		got, answer := f.do("POST", "/state?ID=id-1", document(1, lineage, canary))
		if got != test.want || strings.Contains(answer, canary) {
			t.Errorf("%s: %d %s, want %d", name, got, answer, test.want)
		}
	}
	c.set(func() error { return errors.New("connection refused") }, nil)
	f.want(503, "GET", "/state", "")
	// A lost race is run again.
	var n atomic.Int32
	c.set(nil, func() error {
		if n.Add(1) < tries {
			return apierrors.NewAlreadyExists(secrets, "x")
		}
		return nil
	})
	f.want(200, "POST", "/state?ID=id-1", document(1, lineage, canary))
	c.set(nil, nil)
	// Secrets that hold no state.
	var base corev1.Secret
	key := client.ObjectKey{Namespace: f.Key.Namespace, Name: f.Key.Secret(0)}
	if err := f.Client.Get(t.Context(), key, &base); err != nil {
		t.Fatal(err)
	}
	base.Data["tfstate"] = []byte(canary)
	if err := f.Client.Update(t.Context(), &base); err != nil {
		t.Fatal(err)
	}
	f.want(422, "GET", "/state", "")
	f.want(422, "POST", "/state?ID=id-1", document(2, lineage, canary))
}

// TestStop answers what is in flight when the pod ends, and keeps the lock.
func TestStop(t *testing.T) {
	f, c := withFailing(t)
	f.want(200, "LOCK", "/state", lockInfo("id-1", "OperationTypeApply"))
	ctx, stop := context.WithCancel(t.Context())
	l := listener(t)
	session := &Session{Address: l.Addr().String(), Username: Username, Password: "p"}
	ended := make(chan error, 1)
	go func() { ended <- New(f.Config).Serve(ctx, l, session) }()

	inside, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	c.set(func() error {
		once.Do(func() { close(inside) })
		<-release
		return nil
	}, nil)
	answer := make(chan int, 1)
	go func() {
		got, _ := request(t, session, "POST", "http://"+session.Address+"/state?ID=id-1", document(1, lineage, canary))
		answer <- got
	}()
	<-inside
	stop()
	select {
	case err := <-ended:
		t.Fatalf("it stopped with a request in flight: %v", err)
	default:
	}
	close(release)
	if got := <-answer; got != http.StatusOK {
		t.Errorf("the request in flight was answered with %d", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	c.set(nil, nil)
	if l, err := f.Store.Lock(t.Context(), f.Key); err != nil || l == nil || l.ID != "id-1" {
		t.Errorf("the lock is %+v, %v", l, err)
	}
	if st, err := f.Store.Read(t.Context(), f.Key); err != nil || st.Serial != 1 {
		t.Errorf("the state is %+v, %v", st, err)
	}
}

// TestRepairAtLock ends the write of a run that died before anything else happens.
func TestRepairAtLock(t *testing.T) {
	f := newFixture(t, nil)
	f.want(200, "LOCK", "/state", lockInfo("id-1", "OperationTypeApply"))
	f.want(200, "POST", "/state?ID=id-1", document(1, lineage, canary))
	f.want(200, "UNLOCK", "/state", `{"ID":"id-1"}`)
	left := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.Key.Namespace, Name: f.Key.Secret(1),
		Labels: map[string]string{"tfstate": "true", "tfstateSecretSuffix": f.Key.Suffix, "tfstateWorkspace": "default"},
	}, Data: map[string][]byte{"tfstate": []byte("x")}}
	if err := f.Client.Create(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	f.want(200, "LOCK", "/state", lockInfo("id-2", "OperationTypeApply"))
	if err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(left), left); !apierrors.IsNotFound(err) {
		t.Errorf("the leftover part: %v", err)
	}
}
