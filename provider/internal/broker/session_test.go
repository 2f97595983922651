package broker

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// hasty is a clock on which waiting takes no time.
type hasty struct {
	clock.RealClock
	now time.Time
}

func (h *hasty) Now() time.Time { return h.now }

func (h *hasty) After(d time.Duration) <-chan time.Time {
	h.now = h.now.Add(d)
	c := make(chan time.Time, 1)
	c <- h.now
	return c
}

// TestSession gives a restarted broker the port and password it had.
func TestSession(t *testing.T) {
	dir, clk := t.TempDir(), &hasty{now: time.Now()}
	if _, err := ReadSession(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before there is one: %v", err)
	}
	l, first, err := listen(t.Context(), dir, clk)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, SessionFile))
	if err != nil || info.Mode().Perm() != 0o440 || len(first.Password) < 40 || first.Username != "captf" {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
	if got, err := ReadSession(dir); err != nil || *got != *first || got.Address != l.Addr().String() {
		t.Errorf("read %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, second, err := listen(t.Context(), dir, clk)
	if err != nil || *second != *first || l.Addr().String() != first.Address {
		t.Fatalf("after a restart the session is another one: %v", err)
	}
	// The port is taken: another one, the password stays, and the file says so.
	other, third, err := listen(t.Context(), dir, clk)
	if err != nil || third.Address == first.Address || third.Password != first.Password {
		t.Fatalf("with the port taken: %v", err)
	}
	if got, err := ReadSession(dir); err != nil || *got != *third {
		t.Errorf("read %v", err)
	}
	for _, l := range []interface{ Close() error }{l, other} {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the directory has %v, %v", left, err)
	}
	for _, bad := range []string{"", "{", `{"address":"127.0.0.1:1"}`, "[]"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, SessionFile), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSession(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q is a session: %v", bad, err)
		}
		l, s, err := listen(t.Context(), dir, clk)
		if err != nil || s.Password == "" {
			t.Fatalf("over %q: %v", bad, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := listen(t.Context(), filepath.Join(dir, "none"), clk); err == nil {
		t.Error("a directory that does not exist is no error")
	}
}

// TestLimitMemory takes a container's limit, and nothing else.
func TestLimitMemory(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	for content, want := range map[string]int64{"536870912\n": 483183819, "max\n": was, "": was, "-1": was, "0": was} {
		file := filepath.Join(t.TempDir(), "memory.max")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		debug.SetMemoryLimit(was)
		t.Setenv("GOMEMLIMIT", "")
		limitMemory(file)
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("%q: limit %d, want %d", content, got, want)
		}
		debug.SetMemoryLimit(was)
		t.Setenv("GOMEMLIMIT", "1GiB")
		limitMemory(file)
		if got := debug.SetMemoryLimit(-1); got != was {
			t.Errorf("%q: limit %d although GOMEMLIMIT is set", content, got)
		}
	}
}
