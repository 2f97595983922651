package broker

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/provider/internal/state"
)

const (
	// callTimeout bounds what one request does in the cluster. A client that hangs up does not end it: a state that is
	// half written is one more thing to repair.
	callTimeout = 2 * time.Minute
	// shutdownTimeout bounds how long requests in flight may take once the pod ends.
	shutdownTimeout = 25 * time.Second

	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
)

// Config is what a broker serves.
type Config struct {
	// Store keeps the state that Key names.
	Store *state.Store
	Key   state.Key
	// Client reads the plan key and writes the result and events, without a cache.
	Client client.Client
	// Run is the Job and the pod that the broker belongs to.
	Run state.Holder
	// RunSecret is the per-run Secret that the result goes into; PlanKeySecret that with the plan key, "" for none.
	RunSecret     string
	PlanKeySecret string
	// PausedBy keep the run from beginning while one of them is paused.
	PausedBy []Pausable
	// Apply tells that the run is an apply: what it writes is of its inputs only once it has succeeded.
	Apply bool
	// Backups is how many backups of the state to keep; 0 takes none (B-450).
	Backups int
	// Object is the object of the run: events are about it, and backups belong to it. Nil emits none.
	Object *Object
	// Clock tells the time and wakes the renewal of the lock.
	Clock clock.WithTicker
	// Log gets a line a request, without bodies.
	Log *slog.Logger
}

// Server serves one pod.
type Server struct {
	Config
	events events
	// writing lets one change of the state happen at a time: a client that repeats a call does not wait for the first.
	writing sync.Mutex

	mu      sync.Mutex
	held    string // the ID of the lock that is renewed, "" for none
	known   bool   // whether a lock from before a restart was looked for
	problem string // the newest failure of /state
}

// New returns a server.
func New(c Config) *Server {
	s := &Server{Config: c}
	s.events = events{config: &s.Config}
	return s
}

// Serve serves a session on a listener until the context ends, then lets requests in flight finish. The lock is renewed all
// the while, and never given back: only its holder knows that it is not needed any more.
func (s *Server) Serve(ctx context.Context, l net.Listener, session *Session) error {
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { s.renew(renewing) })
	defer wg.Wait()
	defer stop()

	server := &http.Server{
		Handler: s.Handler(session), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	s.Log.Info("stopping once requests in flight are done")
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(end); err != nil {
		return fmt.Errorf("stopping with requests in flight: %w", errors.Join(err, server.Close()))
	}
	return nil
}

// Handler returns the endpoints, for the password of a session.
func (s *Server) Handler(session *Session) http.Handler {
	api := http.NewServeMux()
	api.HandleFunc("GET /state", s.getState)
	api.HandleFunc("POST /state", s.postState)
	api.HandleFunc("LOCK /state", s.lockState)
	api.HandleFunc("UNLOCK /state", s.unlockState)
	api.HandleFunc("GET /v1/start", s.getStart)
	api.HandleFunc("POST /v1/plan", s.judgePlan)
	api.HandleFunc("POST /v1/event", s.postEvent)
	api.HandleFunc("PUT /v1/result", s.putResult)
	api.HandleFunc("GET /v1/problem", s.getProblem)
	all := http.NewServeMux()
	all.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	all.Handle("/", authenticate(session, api))
	return s.logged(all)
}

// authenticate lets through who has the password. Sums are compared, so that time tells nothing of its length either.
func authenticate(session *Session, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(session.Username + "\x00" + session.Password))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		got := sha256.Sum256([]byte(user + "\x00" + password))
		if !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="broker"`)
			http.Error(w, "the password of this pod's session is needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// recorder keeps the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.MaxBytesReader reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := s.Clock.Now()
		rec := &recorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(rec, r)
		level := slog.LevelDebug
		if r.URL.Path == "/state" && r.Method != http.MethodGet {
			level = slog.LevelInfo
		}
		if rec.status >= http.StatusBadRequest && !(r.Method == http.MethodGet && rec.status == http.StatusNotFound) {
			level = slog.LevelWarn
		}
		s.Log.Log(r.Context(), level, "request", "method", r.Method, "path", r.URL.Path, "status", rec.status,
			"bytes", r.ContentLength, "took", s.Clock.Since(start))
	})
}

// body reads a request's body up to a limit. If ok is false the answer is given.
func body(w http.ResponseWriter, r *http.Request, limit int64) (raw []byte, ok bool) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, fmt.Sprintf("the body has more than %d bytes", limit), http.StatusRequestEntityTooLarge)
		return nil, false
	case err != nil:
		http.Error(w, "the body ended early", http.StatusBadRequest)
		return nil, false
	}
	return raw, true
}

// call returns a context for what a request does in the cluster.
func call(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
}

// status maps an error to what the client makes of it: 4xx is final, 5xx is worth a repeat (B-440).
func status(err error) int {
	var unreadable *state.Unreadable
	switch {
	case errors.Is(err, state.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, state.ErrRefused), errors.Is(err, state.ErrLockLost):
		return http.StatusPreconditionFailed
	case errors.Is(err, state.ErrInvalid), errors.As(err, &unreadable):
		return http.StatusUnprocessableEntity
	case errors.Is(err, state.ErrConflict):
		return http.StatusServiceUnavailable
	case apierrors.IsForbidden(err):
		return http.StatusForbidden
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return http.StatusUnprocessableEntity
	}
	return http.StatusServiceUnavailable
}

// owner is the owner of backups of a state that has none yet.
func (s *Server) owner() *metav1.OwnerReference {
	if s.Object == nil {
		return nil
	}
	return &metav1.OwnerReference{APIVersion: s.Object.APIVersion, Kind: s.Object.Kind, Name: s.Object.Name, UID: s.Object.UID}
}
