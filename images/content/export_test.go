package content

import (
	"context"
	"io"
)

// CopyBlob copies a blob as layouts get it.
func CopyBlob(ctx context.Context, b Blob, to io.Writer) error { return b.copyTo(ctx, to) }
