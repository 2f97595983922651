package content_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"

	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/referrer"
	"github.com/captf-toolkit/captf/images/source"
)

// TestUnnamedKeepsAttached makes sure that what is attached stays when an image
// without name takes the place of another.
func TestUnnamedKeepsAttached(t *testing.T) {
	dir := t.TempDir()
	a, b := setOf(t, index(t)), setOf(t, index(t))
	if err := a.WriteLayout(t.Context(), dir, ""); err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(t.Context(), "oci:"+dir, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	store, err := referrer.Of(src, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Attach(t.Context(), referrer.Artifact{Type: "application/x-test", MediaType: "text/plain", Content: []byte("x"), Subject: a.Root.Descriptor}); err != nil {
		t.Fatal(err)
	}
	if err := b.WriteLayout(t.Context(), dir, ""); err != nil {
		t.Fatal(err)
	}
	again, err := source.Open(t.Context(), "oci:"+dir, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	listed, err := again.Listed()
	if err != nil || again.Digest != b.Root.Descriptor.Digest || len(listed) != 2 {
		t.Errorf("it is %s and lists %v, error %v", again.Digest, listed, err)
	}
}

// TestFullDisk makes sure that it is not reading that is blamed.
func TestFullDisk(t *testing.T) {
	blob := content.Blob{Descriptor: setOf(t, empty.Index).Root.Descriptor, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("{}")), nil
	}}
	err := content.CopyBlob(t.Context(), blob, full{})
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "writing blob sha256:") || strings.Contains(err.Error(), "reading") {
		t.Errorf("got error %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
