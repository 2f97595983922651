package rootfs

import (
	"fmt"
	"io/fs"

	"github.com/captf-toolkit/captf/images/source"
)

// Options say what to read of an image. The zero value reads headers only.
type Options struct {
	// Keep says of an absolute path whether its content is kept when its layer is
	// streamed. It must be a function of the path alone, and safe to call from
	// several goroutines; nil keeps nothing.
	Keep func(path string) bool
	// KeepMax is the size up to which a file is kept, in bytes; 0 is 4 MiB.
	KeepMax int64
	// Spool says of an absolute path whether its content goes to a temporary file
	// when its layer is streamed, so that OpenReaderAt need not stream it again.
	// It is for few and large files; nil spools nothing.
	Spool func(path string) bool
	// IgnoreTOC streams every layer whole, and so checks what it unpacks to against the
	// config, and compares its table of contents, if it has one, with its files.
	IgnoreTOC bool
	// SmallLayer is the size up to which a layer is streamed although it has a
	// table of contents, in bytes: 0 is 256 KiB, below 0 is never.
	SmallLayer int64
	// CacheDir keeps what was learned of layers; empty is no cache.
	CacheDir string
	// CacheMax bounds the cache, in bytes; 0 is 512 MiB. The oldest files go first.
	CacheMax int64
	// TempDir is for spooled files; empty is the system's.
	TempDir string
	// Limits bound memory and work; the zero value is DefaultLimits.
	Limits Limits
}

// Limits bound what an image may cost (lint.md 5.1).
type Limits struct {
	// Kept bounds what is kept in memory, in bytes: contents, and 512 bytes for
	// each entry of a layer.
	Kept int64
	// Scanned bounds what the layers of one image unpack to, in bytes.
	Scanned int64
	// Spooled bounds temporary files, in bytes.
	Spooled int64
}

// DefaultLimits are those of lint.md 5.1.
var DefaultLimits = Limits{Kept: 512 << 20, Scanned: 32 * 512 << 20, Spooled: 4 << 30}

const (
	headerCost        = 512
	defaultKeepMax    = 4 << 20
	defaultSmallLayer = 256 << 10
	defaultCacheMax   = 512 << 20
)

func (o Options) withDefaults() Options {
	if o.Keep == nil {
		o.Keep = func(string) bool { return false }
	}
	if o.Spool == nil {
		o.Spool = func(string) bool { return false }
	}
	if o.KeepMax == 0 {
		o.KeepMax = defaultKeepMax
	}
	if o.SmallLayer == 0 {
		o.SmallLayer = defaultSmallLayer
	}
	if o.CacheMax == 0 {
		o.CacheMax = defaultCacheMax
	}
	if o.Limits.Kept == 0 {
		o.Limits.Kept = DefaultLimits.Kept
	}
	if o.Limits.Scanned == 0 {
		o.Limits.Scanned = DefaultLimits.Scanned
	}
	if o.Limits.Spooled == 0 {
		o.Limits.Spooled = DefaultLimits.Spooled
	}
	return o
}

// ErrTooLarge is the kind of a LimitError.
var ErrTooLarge = source.ErrTooLarge

// LimitError is an image, or a file of it, over one of the limits.
type LimitError struct {
	// Where is the layer or file.
	Where string
	// What is over the limit.
	What string
	// Limit is the limit in bytes.
	Limit int64
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("reading %s: %s more than %s, the limit", e.Where, e.What, bytesText(e.Limit))
}

// Unwrap returns ErrTooLarge.
func (e *LimitError) Unwrap() error { return ErrTooLarge }

func bytesText(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// layerError is a layer whose content is damaged although its digest is right.
type layerError struct {
	where, msg string
}

// Error implements error.
func (e *layerError) Error() string {
	return fmt.Sprintf("reading %s: %s; build the image again", e.where, e.msg)
}

// Unwrap returns source.ErrCorrupt.
func (e *layerError) Unwrap() error { return source.ErrCorrupt }

// ErrLoop is the cause of a *fs.PathError for symbolic links without an end.
var ErrLoop = fmt.Errorf("too many symbolic links: %w", fs.ErrInvalid)

// ErrNotDir is the cause of a *fs.PathError for a path through a file.
var ErrNotDir = fmt.Errorf("not a directory: %w", fs.ErrNotExist)

// ErrNotRegular is the cause of a *fs.PathError for reading what is no file.
var ErrNotRegular = fmt.Errorf("not a regular file: %w", fs.ErrInvalid)

// ProblemKind names a kind of Problem.
type ProblemKind string

// The kinds of problems.
const (
	// ProblemName is an entry whose name is not usable: empty, with a NUL byte, too
	// long, or leading out of the image. It is left out.
	ProblemName ProblemKind = "name"
	// ProblemDotDot is a name with ".." that stays in the image. It is straightened.
	ProblemDotDot ProblemKind = "dot-dot"
	// ProblemHardLink is a hard link to nothing, to a directory or out of the image.
	// It is left out.
	ProblemHardLink ProblemKind = "hard-link"
	// ProblemType is an entry of an unknown type. It is left out.
	ProblemType ProblemKind = "type"
	// ProblemThroughLink is an entry below a symbolic link, which runtimes take
	// differently. It goes where the link points.
	ProblemThroughLink ProblemKind = "through-link"
	// ProblemThroughFile is an entry below a file. The file is replaced.
	ProblemThroughFile ProblemKind = "through-file"
	// ProblemDuplicate is a file that a layer holds twice. The last counts.
	ProblemDuplicate ProblemKind = "duplicate"
	// ProblemTrailing is data after the end of a layer's archive.
	ProblemTrailing ProblemKind = "trailing"
	// ProblemTOC is a table of contents that is damaged, has another digest than
	// the manifest announces, or does not fit its layer. It is not used.
	ProblemTOC ProblemKind = "toc"
	// ProblemDiffID is a layer that unpacks to something else than the config says.
	ProblemDiffID ProblemKind = "diff-id"
	// ProblemWhiteout is a whiteout that names nothing.
	ProblemWhiteout ProblemKind = "whiteout"
)

// Problem is something that an image should not contain.
type Problem struct {
	// Layer is the index of the layer, 0 is the lowest.
	Layer int
	// Kind is the kind of problem.
	Kind ProblemKind
	// Path is the absolute path in the image, or the name in the archive when that
	// is not usable; empty for a problem of the layer.
	Path string
	// Message says what is wrong and what was done.
	Message string
}

// maxProblems bounds the problems of one layer.
const maxProblems = 200
