package module

import "errors"

// Default limits of [Load].
const (
	DefaultMaxFileBytes = 8 << 20
	DefaultMaxFiles     = 2000
	DefaultMaxDepth     = 32
)

// Options changes how a directory is loaded. The zero value is right for most
// callers.
type Options struct {
	// MaxFileBytes is the largest size of one file; 0 means
	// [DefaultMaxFileBytes].
	MaxFileBytes int64
	// MaxFiles is how many module files are read in all; 0 means
	// [DefaultMaxFiles].
	MaxFiles int
	// MaxDepth is how deep local modules may nest; 0 means [DefaultMaxDepth].
	MaxDepth int
}

// Load reads the module in dir and the local modules that it calls. Anything
// that keeps every runtime from reading it is a [*LoadError]: a directory
// without a module file, a file that cannot be read or parsed, a duplicate
// declaration, an override without a base, an unknown argument.
//
// A local call or a file that leads out of dir is not an error. It is listed in
// [Tree.Escapes] and not read.
func Load(dir string, opts Options) (*Tree, error) {
	return nil, errors.New("reading " + dir + ": not built yet")
}
