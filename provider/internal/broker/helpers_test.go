package broker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/provider/internal/names"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/state"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func TestMain(m *testing.M) {
	crds, err := controllerstest.CRDs(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(tools.Main(m, testenv.Options{CRDs: crds}))
}

const (
	lineage = "11111111-2222-3333-4444-555555555555"
	// canary is in states, plans and keys of tests, and must be nowhere else.
	canary = "canary-5d1f0c"
)

// journal is a log that can be searched while it is written.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// fixture is a broker on the shared API server.
type fixture struct {
	*Server
	t       *testing.T
	clock   *clocktesting.FakeClock
	session *Session
	log     *journal
	url     string
}

var states atomic.Uint64

// newFixture returns a broker that serves already; change may change what it is made of.
func newFixture(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	c, err := state.NewClient(tools.Environment(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, clock: clocktesting.NewFakeClock(time.Now()), log: &journal{}}
	n := states.Add(1)
	config := Config{
		Client: c, Store: &state.Store{Writer: c, Live: c, Clock: f.clock},
		Key: state.Key{
			Namespace: tools.Namespace(t), Suffix: fmt.Sprintf("%016x-c", n), Labels: names.StateLabels(contract.RoleCluster, "prod", "prod"),
		},
		Run:       state.Holder{Job: "job", Pod: "pod", PodUID: "uid"},
		RunSecret: "captf-run-job", PlanKeySecret: "captf-plankey-c-prod", Backups: 2, Clock: f.clock,
		Object: &Object{APIVersion: "infrastructure.cluster.x-k8s.io/v1alpha1", Kind: "TerraformCluster", Name: "prod", UID: "1"},
		Log:    slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	config.Object.Namespace = config.Key.Namespace
	if change != nil {
		change(&config)
	}
	f.Server = New(config)
	f.serve()
	return f
}

// serve serves until the test ends, and checks then that nothing secret was logged.
func (f *fixture) serve() {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l, session, err := listen(ctx, f.t.TempDir(), f.clock)
	if err != nil {
		f.t.Fatal(err)
	}
	f.session, f.url = session, "http://"+session.Address
	done := make(chan error, 1)
	go func() { done <- f.Serve(ctx, l, session) }()
	f.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Error(err)
		}
		for _, secret := range []string{canary, session.Password} {
			if strings.Contains(f.log.String(), secret) {
				f.t.Errorf("the log has the secret %q:\n%s", secret, f.log)
			}
		}
	})
}

// do sends a request with the session's password.
func (f *fixture) do(method, path, body string, headers ...string) (int, string) {
	f.t.Helper()
	return request(f.t, f.session, method, f.url+path, body, headers...)
}

func request(t *testing.T, session *Session, method, url, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if session != nil {
		r.SetBasicAuth(session.Username, session.Password)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

// want sends a request and checks the status.
func (f *fixture) want(status int, method, path, body string, headers ...string) string {
	f.t.Helper()
	got, answer := f.do(method, path, body, headers...)
	if got != status {
		f.t.Errorf("%s %s: %d %s, want %d", method, path, got, strings.TrimSpace(answer), status)
	}
	if got >= 400 && strings.Contains(answer, canary) {
		f.t.Errorf("%s %s answers with a secret: %s", method, path, answer)
	}
	return answer
}

func document(serial int, line, value string) string {
	return fmt.Sprintf(`{"version":4,"serial":%d,"lineage":%q,"outputs":{"o":{"value":%q,"type":"string"}},"resources":[]}`, serial, line, value)
}

func lockInfo(id, operation string) string {
	return fmt.Sprintf(`{"ID":%q,"Operation":%q,"Who":"u@h","Version":"1","Created":"2026-01-02T03:04:05Z"}`, id, operation)
}

// secret makes a Secret in the namespace of the broker.
func (f *fixture) secret(name string, data map[string][]byte) {
	f.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.Key.Namespace, Name: name}, Data: data}
	if err := f.Client.Create(f.t.Context(), s); err != nil {
		f.t.Fatal(err)
	}
}

// listener opens a port of loopback.
func listener(t *testing.T) net.Listener {
	t.Helper()
	var c net.ListenConfig
	l, err := c.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
