// Package registry serves container images on the loopback interface for tests, and assembles small images from files.
// Registries there need no TLS: clients of images take the loopback interface for safe.
//
// Not in this package: reading images, and building those that a product ships.
package registry

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Options say what to serve. The zero value keeps everything in memory.
type Options struct {
	// Dir keeps blobs as files; it has to exist. Empty keeps them in memory.
	Dir string
}

// Registry is a running registry.
type Registry struct {
	host     string
	server   *http.Server
	ended    chan error
	down     atomic.Bool
	mu       sync.Mutex
	requests map[string]int
}

// Start starts a registry, which also serves referrers, at a port that the system chooses.
func Start(ctx context.Context, o Options) (*Registry, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a registry: %w", err)
	}
	options := []registry.Option{registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)}
	if o.Dir != "" {
		options = append(options, registry.WithBlobHandler(registry.NewDiskBlobHandler(o.Dir)))
	}
	r := &Registry{host: listener.Addr().String(), ended: make(chan error, 1), requests: map[string]int{}}
	r.server = &http.Server{Handler: r.handler(registry.New(options...)), ReadHeaderTimeout: time.Minute}
	go func() { r.ended <- r.server.Serve(listener) }()
	return r, nil
}

// handler counts requests, and refuses them while the registry is down.
func (r *Registry) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if r.down.Load() {
			http.Error(w, "the registry is down for a test", http.StatusServiceUnavailable)
			return
		}
		if kind := requestKind(q.URL.Path); kind != "" {
			r.mu.Lock()
			r.requests[q.Method+" "+kind]++
			r.mu.Unlock()
		}
		next.ServeHTTP(w, q)
	})
}

// requestKind is manifests or blobs, empty for what is neither.
func requestKind(p string) string {
	for _, kind := range []string{"manifests", "blobs"} {
		if strings.Contains(p, "/"+kind+"/") {
			return kind
		}
	}
	return ""
}

// Host is the registry's host and port, with which references to its images begin.
func (r *Registry) Host() string { return r.host }

// SetDown makes the registry answer every request with the status 503, or ends that.
func (r *Registry) SetDown(down bool) { r.down.Store(down) }

// Requests counts what was asked for up to now: of a method and of manifests or blobs.
func (r *Registry) Requests(method, kind string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests[method+" "+kind]
}

// Close ends the registry. What it held in memory is gone.
func (r *Registry) Close() error {
	if err := errors.Join(r.server.Close(), <-r.ended); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stopping the registry: %w", err)
	}
	return nil
}

// Pushed are the references of an image that was pushed.
type Pushed struct {
	// Tag is HOST/REPOSITORY:TAG, Digest is HOST/REPOSITORY@sha256:….
	Tag, Digest string
}

// Push stores an image or an index under REPOSITORY:TAG.
func (r *Registry) Push(ctx context.Context, repositoryTag string, what remote.Taggable) (Pushed, error) {
	tag, err := name.NewTag(r.host+"/"+repositoryTag, name.StrictValidation)
	if err != nil {
		return Pushed{}, fmt.Errorf("pushing an image: %w", err)
	}
	var digest v1.Hash
	switch w := what.(type) {
	case v1.Image:
		if err = remote.Write(tag, w, remote.WithContext(ctx)); err == nil {
			digest, err = w.Digest()
		}
	case v1.ImageIndex:
		if err = remote.WriteIndex(tag, w, remote.WithContext(ctx)); err == nil {
			digest, err = w.Digest()
		}
	default:
		err = fmt.Errorf("a %T is neither an image nor an index", what)
	}
	if err != nil {
		return Pushed{}, fmt.Errorf("pushing %s: %w", tag, err)
	}
	return Pushed{Tag: tag.Name(), Digest: tag.Context().Digest(digest.String()).Name()}, nil
}

// File is a file, a directory or a link of an image.
type File struct {
	// Content is that of a file.
	Content []byte
	// Link makes it a symbolic link to that path.
	Link string
	// Dir makes it a directory.
	Dir bool
	// Mode are its permissions; 0 is 0755.
	Mode int64
	// UID and GID are its owner.
	UID, GID int
}

// Image assembles an image for this machine from files by their absolute paths, and the part of its config that says
// how to run it. Directories that are not named belong to root and have the mode 0755. The same content gives the
// same digest.
func Image(files map[string]File, config v1.Config) (v1.Image, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, p := range slices.Sorted(maps.Keys(files)) {
		if !path.IsAbs(p) || path.Clean(p) != p {
			return nil, fmt.Errorf("assembling an image: %q is not an absolute path", p)
		}
		f := files[p]
		h := &tar.Header{Name: strings.TrimPrefix(p, "/"), Mode: f.Mode, Uid: f.UID, Gid: f.GID, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		switch {
		case f.Dir:
			h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		case f.Link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.Link
		default:
			h.Size = int64(len(f.Content))
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("assembling an image: %s: %w", p, err)
		}
		if h.Size > 0 {
			if _, err := w.Write(f.Content); err != nil {
				return nil, fmt.Errorf("assembling an image: %s: %w", p, err)
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("assembling an image: %w", err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil })
	if err != nil {
		return nil, fmt.Errorf("assembling an image: %w", err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("assembling an image: %w", err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("assembling an image: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	if img, err = mutate.ConfigFile(img, file); err != nil {
		return nil, fmt.Errorf("assembling an image: %w", err)
	}
	return img, nil
}
