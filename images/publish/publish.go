package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/ctxio"
	"github.com/captf-toolkit/captf/images/source"
)

// DefaultJobs is how many blobs are sent at a time when nothing else is said.
const DefaultJobs = 4

// Options say how to talk to registries. The zero value is usable.
type Options struct {
	// Insecure allows registries that speak plain HTTP. A registry on the
	// loopback interface needs no permission.
	Insecure bool
	// Keychain finds credentials; nil is source.NewKeychain of the environment.
	Keychain authn.Keychain
	// UserAgent is sent to registries; empty is the library's.
	UserAgent string
	// Jobs is how many blobs are sent at a time; 0 means DefaultJobs.
	Jobs int
	// Retry bounds what is tried again. An upload that broke is started over.
	Retry source.Retry
	// Transport talks to registries; nil is one with proxies from the
	// environment and the system's certificates.
	Transport http.RoundTripper
	// Progress gets a line for each step; nil is silent. Calls come from several
	// goroutines, one at a time.
	Progress func(line string)
}

// client is the connection to registries, with the options completed.
type client struct {
	Options
	options  []remote.Option
	registry *patient
	pusher   *remote.Pusher
	puller   *remote.Puller
	mu       sync.Mutex
}

func newClient(o Options) (*client, error) {
	if o.Keychain == nil {
		o.Keychain = source.NewKeychain(nil)
	}
	if o.Jobs <= 0 {
		o.Jobs = DefaultJobs
	}
	if o.Retry.Attempts <= 0 {
		o.Retry.Attempts = 5
	}
	if o.Retry.Delay <= 0 {
		o.Retry.Delay = time.Second
	}
	if o.Retry.MaxDelay <= 0 {
		o.Retry.MaxDelay = time.Minute
	}
	if o.Retry.Sleep == nil {
		o.Retry.Sleep = ctxio.Sleep
	}
	if o.Transport == nil {
		o.Transport = defaultTransport()
	}
	c := &client{Options: o}
	c.registry = &patient{base: o.Transport, insecure: o.Insecure, retry: o.Retry, tell: c.tell}
	c.options = []remote.Option{
		remote.WithAuthFromKeychain(o.Keychain), remote.WithJobs(o.Jobs),
		remote.WithTransport(c.registry),
		// patient tries single requests again, the library starts broken uploads over.
		remote.WithRetryStatusCodes(), remote.WithRetryPredicate(uploadBroke),
		remote.WithRetryBackoff(remote.Backoff{Duration: o.Retry.Delay, Factor: 2, Jitter: 0.2, Steps: o.Retry.Attempts, Cap: o.Retry.MaxDelay}),
	}
	if o.UserAgent != "" {
		c.options = append(c.options, remote.WithUserAgent(o.UserAgent))
	}
	var err error
	if c.pusher, err = remote.NewPusher(c.options...); err != nil {
		return nil, err
	}
	c.puller, err = remote.NewPuller(c.options...)
	return c, err
}

func (c *client) tell(format string, args ...any) {
	if c.Progress == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Progress(fmt.Sprintf(format, args...))
}

// Report says what was done.
type Report struct {
	// Digest is what every tag points at.
	Digest v1.Hash
	// Tags are the references that were written.
	Tags []name.Tag
	// Sent counts the blobs that were sent, SentBytes their bytes, Mounted those
	// that the registry took from another repository, Existing those that were
	// there. Blobs of several repositories count several times.
	Sent, Mounted, Existing int
	SentBytes               int64
	// Attached counts the documents that are attached to the image.
	Attached int
}

// ParseTag reads the reference of a tag to write. The error of a reference that
// cannot be written to is a *source.Error of the kind source.ErrReference.
func ParseTag(text string, insecure bool) (name.Tag, error) {
	ref, err := source.ParseReference(text, insecure)
	if err != nil {
		return name.Tag{}, err
	}
	tag, ok := ref.Name.(name.Tag)
	if ref.Kind != source.Registry || !ok || ref.Digest != (v1.Hash{}) {
		return name.Tag{}, &source.Error{Kind: source.ErrReference, Op: "parsing reference " + text, Msg: "it is not registry/repository:tag"}
	}
	if ref.Tag == "latest" && !strings.HasSuffix(text, ":latest") {
		return name.Tag{}, &source.Error{Kind: source.ErrReference, Op: "parsing reference " + text, Msg: "it has no tag", Hint: "add the version, such as :v1.0.0"}
	}
	return tag, nil
}

// Publish sends a set and points the tags at its root. All tags get the same
// digest; a tag is only written when everything else is there, and is then read
// back. Of several tags those before the first that fails are written: the report
// lists them, also beside an error.
func Publish(ctx context.Context, set *content.Set, tags []name.Tag, o Options) (*Report, error) {
	if len(tags) == 0 {
		return nil, errors.New("publishing: there is no tag to publish to")
	}
	c, err := newClient(o)
	if err != nil {
		return nil, fmt.Errorf("publishing: %w", err)
	}
	report := &Report{Digest: set.Root.Descriptor.Digest, Attached: len(set.Attached)}
	var repos []name.Repository
	for _, t := range tags {
		if !slices.ContainsFunc(repos, func(r name.Repository) bool { return r.Name() == t.Context().Name() }) {
			repos = append(repos, t.Context())
		}
	}
	for i, repo := range repos {
		if err := c.send(ctx, set, repo, repos[:i], report); err != nil {
			return report, err
		}
	}
	for _, t := range tags {
		if err := c.tag(ctx, set.Root, t); err != nil {
			return report, err
		}
		report.Tags = append(report.Tags, t)
	}
	return report, nil
}

// send sends everything but tags to a repository. Those that have it already can
// lend it.
func (c *client) send(ctx context.Context, set *content.Set, repo name.Repository, done []name.Repository, report *Report) error {
	start := time.Now()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(c.Jobs)
	// Large ones first, so that none is left to the end alone.
	blobs := slices.SortedStableFunc(slices.Values(set.Blobs), func(a, b content.Blob) int {
		return int(min(max(b.Descriptor.Size-a.Descriptor.Size, -1), 1))
	})
	var mu sync.Mutex
	for _, b := range blobs {
		g.Go(func() error {
			outcome, err := c.sendBlob(gctx, repo, b, done)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			switch outcome {
			case sent:
				report.Sent++
				report.SentBytes += b.Descriptor.Size
			case mounted:
				report.Mounted++
			case existing:
				report.Existing++
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return cause(ctx, err)
	}
	for _, d := range slices.Concat(set.Documents, set.Attached) {
		if err := c.put(ctx, repo.Digest(d.Descriptor.Digest.String()), d); err != nil {
			return cause(ctx, err)
		}
	}
	c.tell("%s has everything after %s", repo.Name(), since(start))
	return nil
}

type outcome int

const (
	existing outcome = iota
	mounted
	sent
)

// sendBlob makes sure that a repository has a blob.
func (c *client) sendBlob(ctx context.Context, repo name.Repository, b content.Blob, done []name.Repository) (outcome, error) {
	start := time.Now()
	l := &blobLayer{ctx: ctx, blob: b}
	from := lender(repo, b, done)
	var layer v1.Layer = l
	if from != nil {
		layer = &remote.MountableLayer{Layer: l, Reference: from}
	}
	err := c.pusher.Upload(ctx, repo, layer)
	var refused *transport.Error
	if from != nil && errors.As(err, &refused) && (refused.StatusCode == http.StatusUnauthorized || refused.StatusCode == http.StatusForbidden) {
		from = nil // perhaps it is only the other repository that is closed
		err = c.pusher.Upload(ctx, repo, l)
	}
	short := shortDigest(b.Descriptor.Digest)
	if err != nil {
		return 0, explain(fmt.Sprintf("sending blob %s to %s", short, repo.Name()), repo, err)
	}
	switch {
	case l.opened.Load():
		c.tell("sent %s, %s, in %s", short, content.Bytes(b.Descriptor.Size), since(start))
		return sent, nil
	case from != nil && c.registry.tookOver(repo, b.Descriptor.Digest):
		c.tell("%s took %s from %s", repo.Name(), short, from.Context().Name())
		return mounted, nil
	}
	c.tell("%s is in %s already", short, repo.Name())
	return existing, nil
}

// lender returns a reference into another repository of the same registry that
// has the blob, nil when none is known.
func lender(repo name.Repository, b content.Blob, done []name.Repository) name.Reference {
	if b.Origin != nil && b.Origin.Context().RegistryStr() == repo.RegistryStr() && b.Origin.Context().Name() != repo.Name() {
		return b.Origin
	}
	for _, d := range done {
		if d.RegistryStr() == repo.RegistryStr() {
			return d.Digest(b.Descriptor.Digest.String())
		}
	}
	return nil
}

// put writes a document by its digest.
func (c *client) put(ctx context.Context, ref name.Reference, d content.Document) error {
	if err := c.pusher.Put(ctx, ref, d); err != nil {
		return explain("writing manifest "+ref.Name(), ref.Context(), err)
	}
	return nil
}

// tag points a tag at a document that is there, and reads it back.
func (c *client) tag(ctx context.Context, root content.Document, t name.Tag) error {
	op := "writing tag " + t.Name()
	if err := c.pusher.Put(ctx, t, root); err != nil {
		return cause(ctx, explain(op, t.Context(), err))
	}
	got, err := c.head(ctx, t)
	if err != nil {
		return cause(ctx, explain("reading back tag "+t.Name(), t.Context(), err))
	}
	if got != root.Descriptor.Digest {
		return &source.Error{
			Kind: source.ErrCorrupt, Op: op, Msg: fmt.Sprintf("the registry says that it is %s now, not %s", got, root.Descriptor.Digest),
			Hint: "somebody else may have written it at the same time, or the registry changes manifests: publish again",
		}
	}
	c.tell("tagged %s", t.Name())
	return nil
}

// head asks what a tag points at.
func (c *client) head(ctx context.Context, t name.Tag) (v1.Hash, error) {
	if d, err := c.puller.Head(ctx, t); err == nil {
		return d.Digest, nil
	}
	// Not every registry tells the digest without the content.
	d, err := c.puller.Get(ctx, t)
	if err != nil {
		return v1.Hash{}, err
	}
	return d.Digest, nil
}

// blobLayer is a blob as the library sends it.
type blobLayer struct {
	ctx  context.Context //nolint:containedctx // the library's interface has none
	blob content.Blob
	// opened tells that the content was read.
	opened atomic.Bool
}

func (l *blobLayer) Digest() (v1.Hash, error) { return l.blob.Descriptor.Digest, nil }
func (l *blobLayer) DiffID() (v1.Hash, error) {
	return v1.Hash{}, errors.New("a blob that is sent is not unpacked")
}
func (l *blobLayer) Compressed() (io.ReadCloser, error) {
	l.opened.Store(true)
	return l.blob.Open(l.ctx)
}
func (l *blobLayer) Uncompressed() (io.ReadCloser, error) {
	return nil, errors.New("a blob that is sent is not unpacked")
}
func (l *blobLayer) Size() (int64, error) { return l.blob.Descriptor.Size, nil }
func (l *blobLayer) MediaType() (types.MediaType, error) {
	return l.blob.Descriptor.MediaType, nil
}

func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func since(start time.Time) time.Duration { return time.Since(start).Round(10 * time.Millisecond) }

func shortDigest(h v1.Hash) string { return fmt.Sprintf("%s:%.12s", h.Algorithm, h.Hex) }
