package rootfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/captf-toolkit/captf/images/source"
)

// Reader reads images, one at a time. What two of them share, as the platforms of
// an index do, is read once.
type Reader struct {
	opts Options

	mu      sync.Mutex
	budget  budget
	memo    map[string]*listing
	inUse   map[*listing]bool // by the image that is being opened
	spooled int64
	temps   []*os.File
	stats   Stats
}

// Stats count the work of a Reader.
type Stats struct {
	// Streamed counts the layers that were read whole, Restreamed those of them
	// that were read again for a file.
	Streamed, Restreamed int
	// TOCs counts the layers of which only the table of contents was read.
	TOCs int
	// Shared counts the layers that were known from another image of the run.
	Shared int
	// Cached counts the layers that were known from the cache.
	Cached int
	// Chunks counts the parts of files that were read by range.
	Chunks int
	// Kept are the bytes that are kept now, Peak the most that were, by the
	// measure of Limits.Kept.
	Kept, Peak int64
	// Scanned are the bytes that layers unpacked to, of the last image.
	Scanned int64
}

// NewReader returns a reader. Close it when done.
func NewReader(opts Options) *Reader {
	opts = opts.withDefaults()
	r := &Reader{opts: opts, memo: map[string]*listing{}}
	r.budget = budget{limit: opts.Limits.Kept, evict: r.evict}
	return r
}

// Open reads an image; see Reader.Open. Close the result when done.
func Open(ctx context.Context, img *source.Image, opts Options) (*FS, error) {
	r := NewReader(opts)
	f, err := r.Open(ctx, img)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	f.own = true
	return f, nil
}

// Close saves what was learned and removes temporary files. File systems of the reader can list, but not read
// afterwards.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.memo {
		r.store(l)
	}
	var errs []error
	for _, f := range r.temps {
		errs = append(errs, f.Close(), os.Remove(f.Name()))
	}
	r.temps = nil
	return errors.Join(errs...)
}

// Stats returns what was done up to now.
func (r *Reader) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Kept, s.Peak = r.budget.used, r.budget.peak
	return s
}

func (r *Reader) charge(out *listing, where string, n int64) error {
	if err := r.budget.charge(where, n); err != nil {
		return err
	}
	out.cost += n
	return nil
}

// free gives back what a listing was charged.
func (r *Reader) free(out *listing) {
	r.budget.release(out.cost)
	out.cost = 0
}

// evict forgets a layer that the current image does not use.
func (r *Reader) evict() bool {
	for k, l := range r.memo {
		if !r.inUse[l] {
			delete(r.memo, k)
			r.free(l)
			return true
		}
	}
	return false
}

// Open reads the layers of an image and shows their files. Errors are those of
// package source, and LimitError.
func (r *Reader) Open(ctx context.Context, img *source.Image) (*FS, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &meter{limit: r.opts.Limits.Scanned}
	defer func() { r.stats.Scanned = m.used }()
	r.inUse = map[*listing]bool{}
	f := &FS{r: r, img: img, meter: m, tree: newTree()}
	for _, l := range img.Layers() {
		known, err := r.layer(ctx, img, l, m)
		if err != nil {
			return nil, err
		}
		r.inUse[known] = true
		f.listings = append(f.listings, known)
		// The layer is shared, what the config says of it is the image's own.
		if known.unpacked != "" && l.DiffID.Algorithm == "sha256" && known.unpacked != l.DiffID.Hex {
			f.tree.problem(l.Index, Problem{Kind: ProblemDiffID, Message: fmt.Sprintf(
				"%s unpacks to sha256:%s, but the config says %s; container runtimes refuse it", l.Name(), known.unpacked, l.DiffID)})
		}
		f.tree.apply(l.Index, known, tocDigest(l) != "")
	}
	if err := f.prefetch(ctx); err != nil {
		return nil, err
	}
	for _, l := range f.listings {
		r.store(l)
	}
	return f, nil
}

// layer finds or reads the listing of a layer.
func (r *Reader) layer(ctx context.Context, img *source.Image, l *source.Layer, m *meter) (*listing, error) {
	useTOC := tocDigest(l) != "" && !r.opts.IgnoreTOC && l.Descriptor.Size > r.opts.SmallLayer
	keys := []string{layerKey(l)}
	if useTOC {
		keys = append(keys, tocKey(l))
	}
	if r.opts.IgnoreTOC {
		keys = []string{layerKey(l) + "-all"}
	}
	for _, k := range keys {
		if known := r.memo[k]; known != nil {
			r.stats.Shared++
			return known, nil
		}
	}
	if !r.opts.IgnoreTOC {
		for _, k := range keys {
			known, err := r.load(k, l)
			if err != nil {
				return nil, err
			}
			if known != nil {
				r.stats.Cached++
				r.memo[k] = known
				return known, nil
			}
		}
	}
	began := time.Now()
	var trouble error
	if useTOC {
		known, err := r.readTOC(ctx, l, m)
		if err == nil {
			r.memo[known.key] = known
			img.Report("%s of %d: table of contents read, %d entries (%s)", l.Name(), len(img.Layers()), len(known.records), since(began))
			return known, nil
		}
		var unusable *tocError
		if !errors.As(err, &unusable) && !errors.Is(err, source.ErrNoRange) {
			return nil, err
		}
		if errors.As(err, &unusable) {
			trouble = err
		}
	}
	known, err := r.scan(ctx, l, m)
	if err != nil {
		return nil, err
	}
	if trouble != nil {
		known.dirty, known.private = false, true // The problem is this manifest's.
		known.problem(ProblemTOC, "", "the table of contents of %s is not used: %s", l.Name(), trouble)
	}
	if r.opts.IgnoreTOC {
		known.key += "-all"
		known.dirty, known.private = false, true
	}
	r.memo[known.key] = known
	img.Report("%s of %d: read whole, %s, %d entries (%s)", l.Name(), len(img.Layers()), bytesText(l.Descriptor.Size), len(known.records), since(began))
	return known, nil
}

func since(t time.Time) string { return time.Since(t).Round(10 * time.Millisecond).String() }

// layerKey names what is known of a layer by its digest.
func layerKey(l *source.Layer) string {
	return fmt.Sprintf("%s-%s", l.Descriptor.Digest.Algorithm, l.Descriptor.Digest.Hex)
}
