package attest

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/captf-toolkit/captf/images/binary"
)

// zipped describes an executable in an archive. Its headers are anywhere in it, so
// it goes to a temporary file that is removed at once.
func zipped(ctx context.Context, e *zip.File) (_ Program, err error) {
	if e.UncompressedSize64 > maxProgram {
		return Program{}, fmt.Errorf("%s unpacks to %d bytes, more than %d GiB", e.Name, e.UncompressedSize64, maxProgram>>30)
	}
	body, err := e.Open()
	if err != nil {
		return Program{}, fmt.Errorf("%s: %w", e.Name, err)
	}
	defer body.Close()
	f, err := os.CreateTemp("", "captf-provider-*")
	if err != nil {
		return Program{}, err
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	h := sha256.New()
	// An archive can hold more than it says; the reader of the library checks the
	// size at the end only.
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(&interruptible{ctx, body}, int64(e.UncompressedSize64)+1))
	if err != nil {
		return Program{}, fmt.Errorf("%s: %w", e.Name, err)
	}
	if n != int64(e.UncompressedSize64) {
		return Program{}, fmt.Errorf("%s: it does not have the %d bytes that the archive says", e.Name, e.UncompressedSize64)
	}
	out := Program{Path: e.Name, SHA256: hex.EncodeToString(h.Sum(nil))}
	if info, err := binary.Read(f); err == nil {
		out.Build = info.Build
	}
	return out, nil
}

// interruptible ends reading with its context.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (i *interruptible) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, context.Cause(i.ctx)
	}
	return i.r.Read(p)
}
