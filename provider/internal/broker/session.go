package broker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"
)

// SessionFile is the name of the file that tells the runner where the broker is.
const SessionFile = "session.json"

// Username is the name of basic authentication; only the password means anything.
const Username = "captf"

const (
	maxSession = 4 << 10
	// rebind is how long a restarted broker tries to get its port back before it takes another.
	rebind      = 5 * time.Second
	rebindEvery = 250 * time.Millisecond
)

// Session is what the runner needs to talk to the broker of its pod.
type Session struct {
	// Address is the host and port, on loopback.
	Address string `json:"address"`
	// Username and Password are those of basic authentication.
	Username string `json:"username"`
	Password string `json:"password"`
}

// ReadSession reads the session in a directory. The error wraps fs.ErrNotExist until the broker has written it.
func ReadSession(dir string) (*Session, error) {
	path := filepath.Join(dir, SessionFile)
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the broker's session: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSession+1))
	if err != nil {
		return nil, fmt.Errorf("reading the broker's session %s: %w", path, err)
	}
	var s Session
	if err := json.Unmarshal(raw, &s); err != nil || len(raw) > maxSession || s.Address == "" || s.Password == "" {
		return nil, fmt.Errorf("reading the broker's session %s: it is not a session", path)
	}
	return &s, nil
}

// listen opens the port of a session and writes its file. A broker that restarts in its pod takes the port and password
// that it had, so that a runtime in the middle of its run finds it again.
func listen(ctx context.Context, dir string, clk clock.Clock) (net.Listener, *Session, error) {
	old, err := ReadSession(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		old = nil // half a file, or another's: make it new
	}
	var config net.ListenConfig
	if old != nil {
		for end := clk.Now().Add(rebind); ; {
			l, err := config.Listen(ctx, "tcp", old.Address)
			if err == nil {
				return l, old, nil
			}
			if ctx.Err() != nil || !clk.Now().Before(end) {
				break
			}
			select {
			case <-ctx.Done():
			case <-clk.After(rebindEvery):
			}
		}
	}
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("listening on loopback: %w", err)
	}
	s := &Session{Address: l.Addr().String(), Username: Username, Password: rand.Text() + rand.Text()}
	if old != nil {
		s.Password = old.Password
	}
	if err := s.write(dir); err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, s, nil
}

// write puts the session's file in its place whole: a runner sees none or all of it.
func (s *Session) write(dir string) error {
	raw, err := json.Marshal(s) //nolint:gosec // handing the password to the runner is what the file is for
	if err != nil {
		return fmt.Errorf("encoding the session: %w", err)
	}
	tmp, err := os.CreateTemp(dir, "."+SessionFile+"-*")
	if err != nil {
		return fmt.Errorf("writing the session: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(raw)
	// The module's container runs as another user, and shares the pod's group with this one.
	err = errors.Join(err, tmp.Chmod(0o440), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(dir, SessionFile))
	}
	if err != nil {
		return fmt.Errorf("writing the session: %w", err)
	}
	return nil
}
