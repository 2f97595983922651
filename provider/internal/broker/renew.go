package broker

import (
	"context"
	"errors"

	"github.com/captf-toolkit/captf/provider/internal/state"
)

// hold makes a lock the one that is renewed.
func (s *Server) hold(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.known = id, true
}

// drop ends the renewal of a lock, and tells whether it was going on.
func (s *Server) drop(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != id {
		return false
	}
	s.held = ""
	return true
}

// renew renews the lock until the context ends (B-430). It starts with the lock that this pod holds from before a restart
// of the broker, if there is one.
func (s *Server) renew(ctx context.Context) {
	ticker := s.Clock.NewTicker(state.RenewEvery)
	defer ticker.Stop()
	for {
		s.renewOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

func (s *Server) renewOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, state.RenewEvery)
	defer cancel()
	s.mu.Lock()
	id, known := s.held, s.known
	s.mu.Unlock()
	if !known {
		l, err := s.Store.Lock(ctx, s.Key)
		if err != nil {
			s.Log.Warn("whether this pod holds the lock is not known yet", "reason", err.Error())
			return
		}
		if l != nil && l.Holder != nil && l.Holder.PodUID == s.Run.PodUID {
			id = l.ID
		}
		s.mu.Lock()
		if !s.known { // else a request was faster
			s.held, s.known = id, true
		}
		id = s.held
		s.mu.Unlock()
	}
	if id == "" {
		return
	}
	err := again(func() error { return s.Store.Renew(ctx, s.Key, id, s.Run) })
	switch {
	case errors.Is(err, state.ErrLockLost):
		if s.drop(id) { // else a request gave it back meanwhile
			s.Log.Warn("the lock was taken away", "lock", id)
		}
	case err != nil && ctx.Err() == nil:
		s.Log.Warn("the lock was not renewed", "lock", id, "reason", err.Error())
	}
}
