// Package ctxio makes reading and waiting end with a context.
//
// Not in this package: limits (each caller has its own), and retries (images/source,
// images/publish).
package ctxio

import (
	"context"
	"io"
	"time"
)

// Reader returns a reader of r whose next read fails with the context's cause when
// the context has ended: layers take seconds to read and to compress.
func Reader(ctx context.Context, r io.Reader) io.Reader { return reader{ctx, r} }

type reader struct {
	ctx context.Context //nolint:containedctx // a reader has no other way to get it
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}

// Sleep waits for a duration, or for the end of the context, whose cause it returns.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
