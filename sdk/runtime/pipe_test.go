package runtime

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

// TestPipeKeepsWhatIsThere: a reader that is far behind when the process ends gets all that is still in the pipe, and does
// not wait for ever for what somebody else may write.
func TestPipeKeepsWhatIsThere(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close() // held open, as by a process that left the group
	if _, err := w.WriteString("last words"); err != nil {
		t.Fatal(err)
	}
	p := &pipe{file: r}
	p.end()
	// The reader comes back after the deadline that the end of the process set.
	if err := r.SetReadDeadline(time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("last words"))
	if _, err := io.ReadFull(p, got); err != nil || string(got) != "last words" {
		t.Errorf("read %q, %v", got, err)
	}
	p.last.Store(time.Now().Add(-time.Second).UnixNano())
	if _, err := p.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the last moment: %v", err)
	}
}
