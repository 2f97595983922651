package simcloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Provider is one provider to serve.
type Provider struct {
	// Schema is what it takes; its source is the provider's address.
	Schema *Schema
	// Persona is what the schema does not say; nil is nothing.
	Persona *Persona
}

// Options say what a [Server] serves.
type Options struct {
	Providers []Provider
	// Cloud is what the providers make things in; nil is a new one.
	Cloud *Cloud
	// Dir is a directory for sockets, which have short paths; "" makes one in the
	// directory for temporary files, which Close removes.
	Dir string
}

// Server serves simulated providers in this process. It may be used from several
// goroutines.
type Server struct {
	cloud   *Cloud
	brains  []*brain
	dir     string
	ownDir  bool
	mu      sync.Mutex
	closed  bool
	owners  map[string]string // owner to value
	sockets []net.Listener
	conns   map[net.Conn]bool
	serving sync.WaitGroup
	clock   spent
}

// maxSocketPath is how long the path of a socket may be on every system.
const maxSocketPath = 100

// Start serves providers until [Server.Close].
func Start(o Options) (*Server, error) {
	s := &Server{cloud: o.Cloud, dir: o.Dir, owners: map[string]string{}, conns: map[net.Conn]bool{}}
	if s.cloud == nil {
		s.cloud = NewCloud(Limits{})
	}
	seen := map[string]bool{}
	for _, p := range o.Providers {
		switch {
		case p.Schema == nil || p.Schema.Source == "":
			return nil, errors.New("serving simulated providers: one has no schema or no source")
		case seen[p.Schema.Source]:
			return nil, fmt.Errorf("serving simulated providers: %s is there twice", p.Schema.Source)
		}
		seen[p.Schema.Source] = true
		s.brains = append(s.brains, newBrain(p.Schema, p.Persona))
	}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "simcloud-")
		if err == nil && len(dir) > maxSocketPath-20 {
			_ = os.Remove(dir)
			dir, err = os.MkdirTemp("/tmp", "simcloud-")
		}
		if err != nil {
			return nil, fmt.Errorf("serving simulated providers: making a directory for sockets: %w", err)
		}
		s.dir, s.ownDir = dir, true
	}
	// The library writes every call to standard error unless it is told not to; under a
	// runtime it is the runtime that would not show it.
	if os.Getenv("TF_LOG_SDK") == "" {
		if err := os.Setenv("TF_LOG_SDK", "OFF"); err != nil {
			return nil, fmt.Errorf("serving simulated providers: %w", err)
		}
	}
	s.cloud.mu.Lock()
	defer s.cloud.mu.Unlock()
	for _, b := range s.brains {
		s.cloud.brains[b.schema.Source] = b
	}
	return s, nil
}

// Cloud is what the providers make things in.
func (s *Server) Cloud() *Cloud { return s.cloud }

// Spent is the real time that the server has spent so far.
func (s *Server) Spent() Spent {
	return Spent{
		Schemas: time.Duration(s.clock.schemas.Load()), Calls: time.Duration(s.clock.calls.Load()), Connections: int(s.clock.connections.Load()),
	}
}

// reattach is one provider in TF_REATTACH_PROVIDERS.
type reattach struct {
	Protocol        string
	ProtocolVersion int
	Pid             int
	// Test tells the runtime that the process is not its own to end.
	Test bool
	Addr struct{ Network, String string }
}

// ReattachConfig returns the value of TF_REATTACH_PROVIDERS for a runtime that
// runs on nobody's behalf.
func (s *Server) ReattachConfig() (string, error) { return s.Reattach("") }

// Reattach returns the value of TF_REATTACH_PROVIDERS for a runtime that runs on
// behalf of owner: what it makes is the owner's. The same owner gets the same value.
func (s *Server) Reattach(owner string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", errors.New("attaching simulated providers: the server is closed")
	}
	if v, ok := s.owners[owner]; ok {
		return v, nil
	}
	all := map[string]reattach{}
	for i, b := range s.brains {
		path := filepath.Join(s.dir, strconv.Itoa(len(s.owners))+"."+strconv.Itoa(i))
		if len(path) > maxSocketPath {
			return "", fmt.Errorf("attaching simulated providers: the path of a socket is too long: %s: give a shorter directory for temporary files with TMPDIR", path)
		}
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
		if err != nil {
			return "", fmt.Errorf("attaching simulated providers: %w", err)
		}
		s.sockets = append(s.sockets, l)
		s.serving.Go(func() { s.accept(l, b, owner) })
		// The key has no host: each runtime adds that of its own registry.
		r := reattach{Protocol: "grpc", ProtocolVersion: b.protocol(), Pid: os.Getpid(), Test: true}
		r.Addr.Network, r.Addr.String = "unix", path
		all[b.schema.Source] = r
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("attaching simulated providers: %w", err)
	}
	s.owners[owner] = string(raw)
	return string(raw), nil
}

// protocol is the version of the plugin protocol that a provider is served by.
func (b *brain) protocol() int {
	const newest = 6
	return newest
}

// accept serves each connection by a provider of its own: a runtime dials once for
// each configuration of a provider, so aliases keep their own settings, and the wish
// of one run to stop does not end the calls of another.
func (s *Server) accept(l net.Listener, b *brain, owner string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			_ = c.Close()
			return
		}
		s.conns[c] = true
		s.serving.Go(func() {
			defer func() {
				s.mu.Lock()
				delete(s.conns, c)
				s.mu.Unlock()
			}()
			s.clock.connections.Add(1)
			serveConn(c, b, s.cloud, owner, &s.clock)
		})
		s.mu.Unlock()
	}
}

// Close ends all connections and waits for the calls that are going on.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	var errs []error
	for _, l := range s.sockets {
		errs = append(errs, l.Close())
	}
	for c := range s.conns {
		_ = c.Close() // it may have been closed by the runtime
	}
	s.mu.Unlock()
	s.serving.Wait()
	if s.ownDir {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing the simulated providers: %w", err)
	}
	return nil
}
