package inspect

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/source"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
)

// Limits (B-317, B-319, B-990).
const (
	// MaxConfig is the limit of an image config, in bytes.
	MaxConfig = 1 << 20
	// TagAge is how long a tag is not resolved again.
	TagAge = 10 * time.Minute
	// FailureAge is how long a failure is kept.
	FailureAge = time.Minute
	// AdmissionTimeout is what admission gives to a read.
	AdmissionTimeout = 2 * time.Second
	// readTimeout is what a read may take. It goes on without its caller.
	readTimeout = 30 * time.Second
	// cached bounds the references and the images that are kept.
	cached = 4096
)

// Options are what an Inspector works with.
type Options struct {
	// Live reads pull secrets from the API server.
	Live client.Reader
	// Egress is the policy; the zero value reads all registries at public addresses.
	Egress Egress
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
	// UserAgent is sent to registries.
	UserAgent string
	// Architecture is preferred in an index; empty is the manager's own.
	Architecture string
}

// Inspector reads images. It is shared by controllers and admission, and safe for concurrent use.
type Inspector struct {
	options   Options
	transport *transport

	images *lru.Cache // by digest of the index or image: *Image

	mu         sync.Mutex
	references *lru.Cache // by refKey: reference
	flights    map[refKey]*flight
}

// New returns an Inspector.
func New(o Options) *Inspector {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Architecture == "" {
		o.Architecture = runtime.GOARCH
	}
	return &Inspector{
		options: o, transport: newTransport(o.Egress),
		images: lru.New(cached), references: lru.New(cached), flights: map[refKey]*flight{},
	}
}

// Request names an image and who reads it.
type Request struct {
	// Namespace has the pull secrets.
	Namespace string
	// PullSecrets are Secrets of the namespace with credentials of registries.
	PullSecrets []corev1.LocalObjectReference
	// Image is the reference.
	Image string
	// Retry reads again what failed less than a minute ago. A controller sets it that has its own backoff.
	Retry bool
}

// Image is what is known of an image.
type Image struct {
	// Digest is that of the index, or of the single image, such as sha256:....
	Digest string
	// Labels are those of the config that start with io.captf.
	Labels map[string]string
}

// refKey is a reference as one namespace sees it.
type refKey struct{ namespace, image, secrets string }

// reference is how reading a reference ended.
type reference struct {
	digest string
	err    *Error
	at     time.Time
	pinned bool
}

// flight is a read that is going on.
type flight struct {
	started time.Time
	done    chan struct{}
	image   *Image
	err     *Error
}

// Inspect returns what is known of an image, read if it has to be. Errors are *Error. When the context ends first, the read
// goes on and its result is kept.
func (i *Inspector) Inspect(ctx context.Context, req Request) (*Image, error) {
	key := refKey{req.Namespace, req.Image, secretNames(req.PullSecrets)}
	i.mu.Lock()
	if ok, known, err := i.known(key, req.Retry); ok {
		i.mu.Unlock()
		return known, err
	}
	f, ok := i.flights[key]
	if !ok {
		f = &flight{started: i.options.Clock.Now(), done: make(chan struct{})}
		i.flights[key] = f
		go i.fly(context.WithoutCancel(ctx), key, req, f)
	} else if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= i.options.Clock.Since(f.started) {
		i.mu.Unlock() // It is as slow as the caller can wait already; the next one need not wait as long again.
		return nil, &Error{Class: ClassTimeout, Image: req.Image}
	}
	i.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, &Error{Class: ClassTimeout, Image: req.Image}
	}
	if f.err != nil {
		return nil, f.err
	}
	return f.image, nil
}

// VariablesSchema returns the schema of the variables that an image takes, and the image's digest (B-316). The schema is
// nil if the image declares none. One that is declared and cannot be used is an *Error of ClassLabel.
func (i *Inspector) VariablesSchema(ctx context.Context, namespace string, pullSecrets []corev1.LocalObjectReference, ref string) (*image.Schema, string, error) {
	found, err := i.Inspect(ctx, Request{Namespace: namespace, PullSecrets: pullSecrets, Image: ref})
	if err != nil {
		return nil, "", err
	}
	schema, err := found.Schema(ref)
	return schema, found.Digest, err
}

// Schema returns the schema of the variables that the image takes, nil if it declares none. The reference is for the error,
// an *Error of ClassLabel.
func (m *Image) Schema(ref string) (*image.Schema, error) {
	label, ok := m.Labels[string(image.LabelVariablesSchema)]
	if !ok {
		return nil, nil
	}
	schema, violations := image.ParseSchema(label)
	if len(violations) > 0 {
		return nil, &Error{Class: ClassLabel, Image: ref, Detail: shorten(violations[0].String())}
	}
	return schema, nil
}

// known returns what needs no read, if that is so.
func (i *Inspector) known(key refKey, retry bool) (bool, *Image, error) {
	value, ok := i.references.Get(key)
	if !ok {
		return false, nil, nil
	}
	ref := value.(reference)
	age := i.options.Clock.Since(ref.at)
	if ref.err != nil {
		if age >= FailureAge || retry && !ref.err.Permanent() {
			return false, nil, nil
		}
		return true, nil, ref.err
	}
	if !ref.pinned && age >= TagAge {
		return false, nil, nil
	}
	found, ok := i.images.Get(ref.digest)
	if !ok {
		return false, nil, nil
	}
	return true, found.(*Image), nil
}

// fly reads an image and keeps what comes of it.
func (i *Inspector) fly(ctx context.Context, key refKey, req Request, f *flight) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, pinned, err := i.read(ctx, req)
	result := reference{at: i.options.Clock.Now(), pinned: pinned}
	switch {
	case errors.Is(err, errPullSecret):
		f.err = &Error{Class: ClassPullSecret, Image: req.Image, Detail: strings.TrimPrefix(err.Error(), errPullSecret.Error()+": ")}
	case err != nil:
		f.err = failure(req.Image, err)
	default:
		f.image, result.digest = found, found.Digest
		i.images.Add(found.Digest, found)
	}
	result.err = f.err
	record(f)
	i.mu.Lock()
	i.references.Add(key, result)
	delete(i.flights, key)
	i.mu.Unlock()
	close(f.done)
}

// record counts what went wrong.
func record(f *flight) {
	switch {
	case f.err != nil:
		metrics.ImageInspectFailed(f.err.Class.metric())
	case len(image.CheckLabels(f.image.Labels)) > 0:
		metrics.ImageInspectFailed(ClassLabel.metric())
	}
}

func (i *Inspector) read(ctx context.Context, req Request) (_ *Image, pinned bool, _ error) {
	// The full name of a registry's image: images/source would also take files of this machine.
	ref, err := name.ParseReference(req.Image)
	if err != nil || strings.HasPrefix(req.Image, "oci:") || strings.HasPrefix(req.Image, "tarball:") {
		return nil, false, &Error{Class: ClassReference, Image: req.Image}
	}
	_, pinned = ref.(name.Digest)
	if !i.options.Egress.allowsRegistry(ref.Context().RegistryStr()) {
		return nil, pinned, errPolicy
	}
	chain, err := keychain(ctx, i.options.Live, req.Namespace, req.PullSecrets)
	if err != nil {
		return nil, pinned, err
	}
	src, err := source.Open(ctx, ref.Name(), source.Options{
		Keychain: chain, Transport: i.transport, UserAgent: i.options.UserAgent, MaxConfig: MaxConfig,
		Retry: source.Retry{Attempts: 2, Delay: 250 * time.Millisecond, MaxDelay: 2 * time.Second, Stall: 10 * time.Second},
	})
	if err != nil {
		return nil, pinned, err
	}
	defer src.Close()
	digest := src.Digest.String()
	if found, ok := i.images.Get(digest); ok {
		return found.(*Image), pinned, nil
	}
	platform, err := choose(src.Platforms(), i.options.Architecture)
	if err != nil {
		return nil, pinned, err
	}
	loaded, err := src.Load(ctx, platform)
	if err != nil {
		return nil, pinned, err
	}
	found := &Image{Digest: digest, Labels: map[string]string{}}
	for key, value := range loaded.Labels() {
		if strings.HasPrefix(key, "io.captf.") {
			found.Labels[key] = value
		}
	}
	return found, pinned, nil
}

// choose takes the image for Linux on the architecture, else the first for Linux (B-916).
func choose(platforms []source.Platform, architecture string) (source.Platform, error) {
	first := -1
	for n, p := range platforms {
		if p.OS != "linux" {
			continue
		}
		if p.Architecture == architecture {
			return p, nil
		}
		if first < 0 {
			first = n
		}
	}
	if first < 0 {
		return source.Platform{}, fmt.Errorf("choosing an image: %w", source.ErrPlatform)
	}
	return platforms[first], nil
}

func secretNames(refs []corev1.LocalObjectReference) string {
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = ref.Name
	}
	return strings.Join(names, ",")
}
