package ctxio_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/images/ctxio"
)

var errStop = errors.New("stop")

func TestReader(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	r := ctxio.Reader(ctx, strings.NewReader("abc"))
	b := make([]byte, 1)
	if n, err := r.Read(b); n != 1 || err != nil {
		t.Fatalf("read %d, %v", n, err)
	}
	stop(errStop)
	if _, err := io.ReadAll(r); !errors.Is(err, errStop) {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestSleep(t *testing.T) {
	if err := ctxio.Sleep(t.Context(), 0); err != nil {
		t.Error(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errStop)
	if err := ctxio.Sleep(ctx, time.Hour); !errors.Is(err, errStop) {
		t.Errorf("got %v, want the cause", err)
	}
}
