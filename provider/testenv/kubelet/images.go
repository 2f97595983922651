package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/source"
	"github.com/captf-toolkit/captf/images/unpack"
)

// image is an image that was pulled.
type image struct {
	// id is REPOSITORY@DIGEST, of the index if the reference names one.
	id string
	// dir is where its files are, which nobody may change.
	dir    string
	config v1.Config
}

// imageStore pulls images and keeps them by digest.
type imageStore struct {
	dir    string
	owners bool // files belong to whom the image says

	mu    sync.Mutex
	pulls map[string]*pull  // of digests
	known map[string]*image // by reference, for the policy IfNotPresent
}

type pull struct {
	once sync.Once
	img  *image
	err  error
}

func newImageStore(dir string, owners bool) *imageStore {
	if owners {
		dir = filepath.Join(dir, "owners")
	}
	return &imageStore{dir: dir, owners: owners, pulls: map[string]*pull{}, known: map[string]*image{}}
}

// pullError is why an image is not there, as kubelets say it.
type pullError struct {
	reason string
	err    error
}

func (e *pullError) Error() string { return e.err.Error() }
func (e *pullError) Unwrap() error { return e.err }

// Reasons of a container that waits for its image.
const (
	reasonPull     = "ErrImagePull"
	reasonBackOff  = "ImagePullBackOff"
	reasonName     = "InvalidImageName"
	reasonNever    = "ErrImageNeverPull"
	policyDefault  = corev1.PullIfNotPresent
	imageOS        = "linux"
	configFileName = "config.json"
	rootfsName     = "rootfs"
)

// get returns an image, pulled as the policy says. Its errors are *pullError.
func (s *imageStore) get(ctx context.Context, reference string, policy corev1.PullPolicy, keys authn.Keychain) (*image, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return nil, &pullError{reasonName, fmt.Errorf("couldn't parse image name %q: %w", reference, err)}
	}
	if policy == "" {
		policy = policyDefault
	}
	s.mu.Lock()
	known := s.known[ref.Name()]
	s.mu.Unlock()
	switch {
	case known != nil && policy != corev1.PullAlways:
		return known, nil
	case policy == corev1.PullNever:
		return nil, &pullError{reasonNever, fmt.Errorf("container image %q is not present with pull policy of Never", reference)}
	}
	img, err := s.pull(ctx, ref, keys)
	if err != nil {
		return nil, &pullError{reasonPull, fmt.Errorf("failed to pull image %q: %w", reference, err)}
	}
	s.mu.Lock()
	s.known[ref.Name()] = img
	s.mu.Unlock()
	return img, nil
}

func (s *imageStore) pull(ctx context.Context, ref name.Reference, keys authn.Keychain) (_ *image, err error) {
	// Pulling again is up to whoever wants the image.
	src, err := source.Open(ctx, ref.Name(), source.Options{Keychain: keys, Retry: source.Retry{Attempts: 1}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	img, err := src.Image(ctx, &v1.Platform{OS: imageOS, Architecture: runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	p := s.pulls[img.Digest.String()]
	if p == nil {
		p = &pull{}
		s.pulls[img.Digest.String()] = p
	}
	s.mu.Unlock()
	p.once.Do(func() {
		p.img = &image{dir: filepath.Join(s.dir, img.Digest.Algorithm+"-"+img.Digest.Hex, rootfsName), config: img.Config.Config}
		p.err = s.unpack(ctx, img, filepath.Dir(p.img.dir))
	})
	if p.err != nil {
		s.mu.Lock()
		delete(s.pulls, img.Digest.String())
		s.mu.Unlock()
		return nil, p.err
	}
	out := *p.img
	out.id = ref.Context().Digest(src.Digest.String()).Name()
	return &out, nil
}

// unpack writes the image below dir, unless somebody did before. Several processes may have the same directory.
func (s *imageStore) unpack(ctx context.Context, img *source.Image, dir string) (err error) {
	if _, err := os.Stat(filepath.Join(dir, configFileName)); err == nil {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(s.dir, ".pulling-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unpack.Remove(tmp)) }()
	files, err := rootfs.Open(ctx, img, rootfs.Options{IgnoreTOC: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	for _, p := range files.Problems() {
		if p.Kind == rootfs.ProblemDiffID {
			return errors.New(p.Message)
		}
	}
	if _, err := unpack.Into(ctx, files, filepath.Join(tmp, rootfsName), unpack.Options{Owners: s.owners}); err != nil {
		return err
	}
	config, err := json.Marshal(img.Config.Config)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, configFileName), config, 0o600); err != nil {
		return err
	}
	err = os.Rename(tmp, dir)
	if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}
	return nil
}

// clone makes a copy of an image's files for one container. Files that nobody can change are links to those of the
// image.
func clone(from, to string, link, owners bool) error {
	err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			if err := os.MkdirAll(at, 0o700); err != nil {
				return err
			}
			if err := os.Chmod(at, info.Mode().Perm()|info.Mode()&fs.ModeSticky); err != nil {
				return err
			}
		case info.Mode().Type() == fs.ModeSymlink:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			if err := os.Symlink(target, at); err != nil { //nolint:gosec // nothing runs in it yet
				return err
			}
		case link && os.Link(p, at) == nil: //nolint:gosec // as above
			return nil
		default:
			if err := copyFile(p, at, info.Mode().Perm()); err != nil {
				return err
			}
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && owners {
			return os.Lchown(at, int(stat.Uid), int(stat.Gid))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("copying the image: %w", err)
	}
	return nil
}

func copyFile(from, to string, mode fs.FileMode) (err error) {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Chmod(mode), w.Close())
}
