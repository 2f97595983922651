package runner

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/captf-toolkit/captf/provider/internal/broker"
	"github.com/captf-toolkit/captf/provider/internal/plan"
	"github.com/captf-toolkit/captf/provider/internal/result"
)

var testKey = []byte("0123456789abcdef0123456789abcdef")

// memoryBroker speaks the broker's protocol and keeps everything in memory, so that its answers can be made to fail.
type memoryBroker struct {
	dir     string // with session.json
	session broker.Session

	mu       sync.Mutex
	state    []byte
	lock     map[string]any
	events   []broker.Event
	result   []byte
	requests []string
	bodies   []string // of everything but states and plans
	// fault, if set, may answer a request itself; it is called with the lock held.
	fault func(w http.ResponseWriter, r *http.Request) bool
}

func startBroker(t *testing.T) *memoryBroker {
	t.Helper()
	b := &memoryBroker{dir: t.TempDir()}
	srv := httptest.NewServer(b)
	t.Cleanup(srv.Close)
	b.session = broker.Session{Address: strings.TrimPrefix(srv.URL, "http://"), Username: "captf", Password: "broker-password-of-this-pod"}
	doc, err := json.Marshal(b.session)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, broker.SessionFile), doc, 0o440); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *memoryBroker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, r.Method+" "+r.URL.String())
	if user, pass, _ := r.BasicAuth(); user != b.session.Username || pass != b.session.Password {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if b.fault != nil && b.fault(w, r) {
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /state":
		if b.state == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(b.state)
	case "POST /state":
		if id, _ := b.lock["ID"].(string); id != r.URL.Query().Get("ID") {
			w.WriteHeader(http.StatusPreconditionFailed)
			return
		}
		b.state = body
	case "LOCK /state":
		var info map[string]any
		if json.Unmarshal(body, &info) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if b.lock != nil && b.lock["ID"] != info["ID"] {
			w.WriteHeader(http.StatusLocked)
			_ = json.NewEncoder(w).Encode(b.lock)
			return
		}
		b.lock = info
	case "UNLOCK /state":
		var info struct{ ID string }
		_ = json.Unmarshal(body, &info) // Terraform's force-unlock sends no body
		if info.ID == "" {
			info.ID = r.URL.Query().Get("id")
		}
		if b.lock != nil && b.lock["ID"] == info.ID {
			b.lock = nil
		}
	case "GET /v1/start":
	case "POST /v1/plan":
		report, err := plan.Judge(testKey, body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		_ = json.NewEncoder(w).Encode(report)
	case "POST /v1/event":
		var e broker.Event
		if json.Unmarshal(body, &e) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		b.events = append(b.events, e)
		b.bodies = append(b.bodies, string(body))
	case "PUT /v1/result":
		b.result = body
		b.bodies = append(b.bodies, string(body))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// stateOf decodes the state that the broker has.
func (b *memoryBroker) stateOf(t *testing.T) (s struct {
	Serial    int64
	Lineage   string
	Resources []struct {
		Module, Type, Name string
		Instances          []struct {
			Status     string
			Attributes map[string]any
		}
	}
}) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := json.Unmarshal(b.state, &s); err != nil {
		t.Fatalf("the broker's state: %v: %.200s", err, b.state)
	}
	return s
}

func (b *memoryBroker) free(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lock != nil {
		t.Errorf("the lock is still held: %v", b.lock)
	}
}

// reasons are those of the events, without those of single steps.
func (b *memoryBroker) reasons() (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if !strings.HasPrefix(e.Reason, "Step") {
			list = append(list, e.Reason)
		}
	}
	return list
}

// reported is the document that the broker got.
func (b *memoryBroker) reported(t *testing.T) *result.Document {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	d, err := result.Decode(b.result)
	if err != nil {
		t.Fatalf("the broker's result: %v: %s", err, b.result)
	}
	return d
}
