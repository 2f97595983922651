package broker

import (
	"context"
	"crypto/md5" //nolint:gosec // the protocol of the http backend: it detects a body that was cut, not a forger
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/captf-toolkit/captf/provider/internal/state"
)

const (
	maxLock = 64 << 10
	// tries is how often a lost race is run again before the client is asked to.
	tries = 4
)

// fail answers a request about the state, and keeps the reason: the runtimes print the status only.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	code := status(err)
	s.note(r, code, err.Error())
	http.Error(w, err.Error(), code)
}

func (s *Server) note(r *http.Request, code int, why string) {
	s.Log.Warn("request failed", "method", r.Method, "path", r.URL.Path, "status", code, "reason", why)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = why
}

func (s *Server) getProblem(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	problem := s.problem
	s.mu.Unlock()
	if problem == "" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	reply(w, http.StatusOK, map[string]string{"message": problem})
}

func (s *Server) getState(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := call(r)
	defer cancel()
	raw, _, err := s.Store.Raw(ctx, s.Key)
	if errors.Is(err, state.ErrNotFound) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if err != nil {
		s.fail(w, r, fmt.Errorf("reading the state: %w", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-MD5", sum(raw))
	_, _ = w.Write(raw)
}

func sum(raw []byte) string {
	sum := md5.Sum(raw) //nolint:gosec // see the import
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (s *Server) postState(w http.ResponseWriter, r *http.Request) {
	raw, ok := body(w, r, state.MaxBytes)
	if !ok {
		return
	}
	if want := r.Header.Get("Content-MD5"); want != "" && want != sum(raw) {
		s.note(r, http.StatusBadRequest, "the state arrived damaged")
		http.Error(w, "the body does not have its Content-MD5", http.StatusBadRequest)
		return
	}
	ctx, cancel := call(r)
	defer cancel()
	s.writing.Lock()
	defer s.writing.Unlock()
	id := r.URL.Query().Get("ID")
	if err := s.store(ctx, id, raw); err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// store writes the state for the holder of the lock. What the lock says of its operation is the module's word and grants nothing:
// another lineage or a lower serial is stored by nobody but a person, with runner state push.
func (s *Server) store(ctx context.Context, id string, raw []byte) error {
	if _, err := s.Store.Holds(ctx, s.Key, id, s.Run); err != nil {
		return fmt.Errorf("storing the state: %w", err)
	}
	o := state.WriteOptions{
		Backups: s.Backups, Job: s.Run.Job, Owner: s.owner(), Apply: s.Apply,
		Check: func(ctx context.Context) error {
			_, err := s.Store.Holds(ctx, s.Key, id, s.Run)
			return err
		},
	}
	return again(func() error {
		_, err := s.Store.Write(ctx, s.Key, raw, o)
		return err
	})
}

// again repeats what lost a race: reading anew finds out whether there is still a reason to write.
func again(try func() error) (err error) {
	for range tries {
		if err = try(); !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
	return err
}

func (s *Server) lockState(w http.ResponseWriter, r *http.Request) {
	raw, ok := body(w, r, maxLock)
	if !ok {
		return
	}
	info, err := state.ParseLockInfo(raw)
	if err != nil {
		s.note(r, http.StatusBadRequest, err.Error())
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := call(r)
	defer cancel()
	s.writing.Lock()
	defer s.writing.Unlock()
	err = again(func() error { return s.Store.Acquire(ctx, s.Key, info, &s.Run) })
	var held *state.Held
	switch {
	case errors.As(err, &held):
		s.note(r, http.StatusLocked, err.Error())
		replyLock(w, held.Lock)
		return
	case err != nil:
		s.fail(w, r, err)
		return
	}
	s.hold(info.ID)
	// What the last run left half written is put right before stock clients may be needed; if that fails now, each write
	// tries again.
	if repaired, err := s.Store.Repair(ctx, s.Key); err != nil {
		s.Log.Warn("the state's Secrets were not put right", "reason", err.Error())
	} else if repaired {
		s.Log.Info("ended a write of the state that had stopped half way")
	}
	w.WriteHeader(http.StatusOK)
}

// errLive is that a lock may not be broken.
var errLive = errors.New("the lock is that of a run that may go on")

func (s *Server) unlockState(w http.ResponseWriter, r *http.Request) {
	raw, ok := body(w, r, maxLock)
	if !ok {
		return
	}
	// Terraform's force-unlock has no body (B-438).
	id := r.URL.Query().Get("id")
	if len(raw) > 0 {
		info, err := state.ParseLockInfo(raw)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		id = info.ID
	}
	if id == "" {
		http.Error(w, "which lock is to be freed is neither in the body nor in ?id=", http.StatusBadRequest)
		return
	}
	ctx, cancel := call(r)
	defer cancel()
	s.writing.Lock()
	defer s.writing.Unlock()
	var live *state.Lock
	err := again(func() error {
		_, err := s.Store.Unlock(ctx, s.Key, id, func(l *state.Lock) error {
			if s.mayBreak(l) {
				return nil
			}
			live = l
			return errLive
		})
		return err
	})
	switch {
	case errors.Is(err, errLive):
		s.note(r, http.StatusLocked, fmt.Sprintf("unlocking: %s: %s", err, live))
		replyLock(w, live)
		return
	case err != nil:
		s.fail(w, r, err)
		return
	}
	s.drop(id)
	w.WriteHeader(http.StatusOK)
}

// mayBreak tells whether this pod may free a lock: its own, or one of a broker that has not renewed it for long. That the
// other's pod is gone the manager has seen before it asked for this (B-433); this is the second look. A lock of a stock
// client is the manager's or the user's to free.
func (s *Server) mayBreak(l *state.Lock) bool {
	switch {
	case l.Holder == nil:
		return false
	case l.Holder.PodUID == s.Run.PodUID:
		return true
	}
	return !l.Renewed.IsZero() && s.Clock.Since(l.Renewed) >= state.StaleAfter
}

// replyLock answers that a lock is held, with what the clients need of it: JSON with an ID.
func replyLock(w http.ResponseWriter, l *state.Lock) {
	info := l.Info
	if info == nil {
		info = &state.LockInfo{ID: l.ID}
	}
	reply(w, http.StatusLocked, info)
}

func reply(w http.ResponseWriter, code int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(raw)
}
