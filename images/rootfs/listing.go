package rootfs

import (
	"archive/tar"
	"fmt"
	"os"
	"path"
	"strings"
)

// Type is the type of an entry.
type Type byte

// The types of entries.
const (
	Regular Type = iota
	Directory
	Symlink
	CharDevice
	BlockDevice
	Fifo

	hardLink
	whiteout
	opaque
)

var typeNames = [...]string{"regular file", "directory", "symbolic link", "character device", "block device", "named pipe", "hard link", "whiteout", "opaque whiteout"}

// String returns the type in words.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", byte(t))
}

// record is an entry of a layer, in the order of its archive.
type record struct {
	name  string // absolute and clean; of a whiteout, what it hides
	link  string // as in the archive
	typ   Type
	mode  uint32 // permissions, set-id and sticky bits as in stat(2)
	uid   int
	gid   int
	size  int64
	mtime int64 // seconds since 1970

	kept    bool
	data    []byte
	chunks  []chunk  // of a table of contents
	spooled *os.File // of a stream
	ordinal int      // place in the archive
	digest  string   // sha256 in hexadecimal, when it was computed

	pages     map[int64][]byte // parts that were read of a large file
	pageBytes int64
}

// chunk is a part of a file in an eStargz layer.
type chunk struct {
	off, end int64 // compressed, in the blob
	inner    int64 // where it begins in what off..end unpacks to
	at, size int64 // in the file
	digest   string
}

// listing is what is known of a layer.
type listing struct {
	records  []*record
	problems []Problem // without their layer
	toc      bool      // came from a table of contents
	unpacked string    // sha256 in hexadecimal of the archive, when it was streamed
	cost     int64     // kept bytes
	key      string    // of the cache
	dirty    bool      // differs from what the cache holds
	private  bool      // not for the cache
	lastName map[string]Type
}

func (l *listing) problem(kind ProblemKind, path, format string, args ...any) {
	if n := len(l.problems); n < maxProblems {
		l.problems = append(l.problems, Problem{Kind: kind, Path: path, Message: fmt.Sprintf(format, args...)})
	} else if n == maxProblems {
		l.problems = append(l.problems, Problem{Kind: kind, Message: "there are more problems in this layer, which are not listed"})
	}
}

const (
	maxPath      = 4096
	maxComponent = 255

	whiteoutPrefix = ".wh."
	opaqueName     = ".wh..wh..opq"
	metaPrefix     = ".wh..wh."
)

// add makes a record of a header, or a problem. It returns nil for what is left out.
func (l *listing) add(rawName, rawLink string, typ Type, ordinal int) *record {
	name, ok := l.cleanName(rawName)
	if !ok {
		return nil
	}
	rec := &record{name: name, link: rawLink, typ: typ, ordinal: ordinal}
	base := path.Base(name)
	switch {
	case base == opaqueName:
		rec.name, rec.typ = path.Dir(name), opaque
	case strings.HasPrefix(base, metaPrefix):
		return nil // Left by a storage driver; runtimes skip it too.
	case strings.HasPrefix(base, whiteoutPrefix):
		hidden := base[len(whiteoutPrefix):]
		if hidden == "" || hidden == "." || hidden == ".." {
			l.problem(ProblemWhiteout, name, "the whiteout %s hides nothing; it is left out", show(name))
			return nil
		}
		rec.name, rec.typ = path.Join(path.Dir(name), hidden), whiteout
	case strings.IndexByte(rawLink, 0) >= 0 || len(rawLink) > maxPath:
		l.problem(ProblemName, name, "the link %s has a target that is not usable; it is left out", show(name))
		return nil
	}
	if rec.typ == Regular || rec.typ == Symlink {
		if l.lastName == nil {
			l.lastName = map[string]Type{}
		}
		if _, twice := l.lastName[name]; twice {
			l.problem(ProblemDuplicate, name, "%s is in the layer more than once; the last counts", show(name))
		}
		l.lastName[name] = rec.typ
	}
	l.records = append(l.records, rec)
	return rec
}

// cleanName makes a name absolute and clean.
func (l *listing) cleanName(raw string) (string, bool) {
	switch {
	case raw == "":
		l.problem(ProblemName, "", "an entry has no name; it is left out")
		return "", false
	case strings.IndexByte(raw, 0) >= 0:
		l.problem(ProblemName, show(raw), "the name %s holds a NUL byte; the entry is left out", show(raw))
		return "", false
	case len(raw) > maxPath:
		l.problem(ProblemName, show(raw), "the name %s is longer than %d bytes; the entry is left out", show(raw), maxPath)
		return "", false
	}
	depth, dots := 0, false
	for part := range strings.SplitSeq(raw, "/") {
		switch {
		case part == "" || part == ".":
		case part == "..":
			dots = true
			if depth--; depth < 0 {
				l.problem(ProblemName, show(raw), "the name %s leads out of the image; the entry is left out", show(raw))
				return "", false
			}
		case len(part) > maxComponent:
			l.problem(ProblemName, show(raw), "a part of the name %s is longer than %d bytes; the entry is left out", show(raw), maxComponent)
			return "", false
		default:
			depth++
		}
	}
	clean := path.Clean("/" + raw)
	if dots {
		l.problem(ProblemDotDot, clean, "the name %s holds ..; it is taken as %s", show(raw), show(clean))
	}
	return clean, true
}

// show quotes a name that does not print well, and shortens it.
func show(s string) string {
	if len(s) > 200 {
		s = s[:200] + "..."
	}
	quoted := fmt.Sprintf("%q", s)
	if quoted[1:len(quoted)-1] == s {
		return s
	}
	return quoted
}

// cost is what an entry counts for.
func cost(name, link string) int64 {
	return headerCost + int64(max(0, len(name)+len(link)-headerCost/2))
}

// tarTypes are the types of archive entries; what is not here is a problem.
var tarTypes = map[byte]Type{
	tar.TypeReg: Regular, tar.TypeCont: Regular, tar.TypeGNUSparse: Regular,
	tar.TypeDir: Directory, tar.TypeSymlink: Symlink, tar.TypeLink: hardLink,
	tar.TypeChar: CharDevice, tar.TypeBlock: BlockDevice, tar.TypeFifo: Fifo,
}

// tocTypes are those of a table of contents.
var tocTypes = map[string]Type{
	"reg": Regular, "dir": Directory, "symlink": Symlink, "hardlink": hardLink,
	"char": CharDevice, "block": BlockDevice, "fifo": Fifo,
}
