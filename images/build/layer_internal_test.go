package build

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// zeros is an entry's content that counts what is read of it.
type zeros struct {
	read int64
	end  func()
}

func (s *zeros) Read(p []byte) (int, error) {
	s.end()
	s.read += int64(len(p))
	clear(p)
	return len(p), nil
}

// TestInterruptedInFile makes sure that a large file is not compressed to its
// end when nobody waits for it any more.
func TestInterruptedInFile(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("interrupted by the test")
	s := &zeros{end: func() { cancel(reason) }}
	const size = 64 << 20
	w := layerWriter{dir: t.TempDir(), level: DefaultLevel}
	_, err := w.write(ctx, []entry{{
		name: "big", typ: '0', size: size, open: func() (io.ReadCloser, error) { return io.NopCloser(s), nil },
	}})
	if !errors.Is(err, reason) || s.read > size/16 {
		t.Errorf("%d bytes were read, error %v", s.read, err)
	}
}

func TestWhiteoutInLayer(t *testing.T) {
	w := layerWriter{dir: t.TempDir(), level: DefaultLevel}
	for _, name := range []string{".wh.x", "captf/providers/.wh..wh..opq", "captf/.wh.d/file"} {
		if _, err := w.write(t.Context(), []entry{text(name, nil)}); err == nil || !strings.Contains(err.Error(), "/"+name) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
