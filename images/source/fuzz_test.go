package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzTarball opens archives, and reads the image in them to its last byte.
func FuzzTarball(f *testing.F) {
	img := imageSized(f, "linux/amd64", 100)
	for _, path := range []string{tarDir(f, writeLayout(f, map[string]any{"v1": img})), oldDockerSave(f, img)} {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		f.Add(raw[:len(raw)/2])
	}
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(dir, "image.tar")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(context.Background(), "tarball:"+path, Options{TempDir: dir})
		if err != nil {
			known(t, err)
			return
		}
		defer s.Close()
		for _, p := range s.Platforms() {
			img, err := s.Load(context.Background(), p)
			if err != nil {
				known(t, err)
				continue
			}
			for _, l := range img.Layers() {
				if raw, err := readAll(l); err != nil {
					known(t, err)
				} else if int64(len(raw)) != l.Descriptor.Size {
					t.Errorf("read %d of %d bytes", len(raw), l.Descriptor.Size)
				}
			}
		}
	})
}

func known(t *testing.T, err error) {
	t.Helper()
	for _, kind := range []error{ErrReference, ErrNotFound, ErrCorrupt, ErrFormat, ErrTooLarge, ErrPlatform} {
		if errors.Is(err, kind) {
			return
		}
	}
	t.Errorf("error of no kind: %v", err)
}

// FuzzManifest parses documents; the result is an index, a manifest or an error.
func FuzzManifest(f *testing.F) {
	names, _ := filepath.Glob("testdata/manifests/*/manifest.json")
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, "application/vnd.oci.image.index.v1+json")
		f.Add(raw, "")
	}
	f.Fuzz(func(t *testing.T, raw []byte, _ string) {
		doc := document{raw: raw}
		index, manifest, err := doc.parse("reading manifest")
		if err != nil {
			known(t, err)
		} else if (index == nil) == (manifest == nil) {
			t.Error("not exactly one result")
		}
	})
}

// FuzzReference parses references, and never shows what stands before an @.
func FuzzReference(f *testing.F) {
	raw, err := os.ReadFile("testdata/references.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(raw))
	f.Add("oci:a@sha256:")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ParseReference(text, false); err != nil && !errors.Is(err, ErrReference) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
