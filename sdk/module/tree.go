package module

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"unicode/utf16"

	"github.com/hashicorp/hcl/v2"
)

// Tree is everything that was read from one module directory: the root module
// and the local modules that it calls, as each runtime sees them.
//
// Every [hcl.Range] in a tree names its file relative to Root, with forward
// slashes ("main.tf", "modules/net/main.tf"), so that reports do not depend on
// where the directory lies.
type Tree struct {
	// Root is the directory as it was given to [Load].
	Root string
	// Terraform is the root module as Terraform reads it; nil when Terraform
	// would read no file at all.
	Terraform *Module
	// OpenTofu is the root module as OpenTofu reads it; nil when OpenTofu would
	// read no file at all.
	OpenTofu *Module
	// Primary is the view that contract checks run on: Terraform's when any
	// .tf or .tf.json file exists, else OpenTofu's (lint.md section 3). When
	// the files use a construct that only OpenTofu knows, it is OpenTofu's. It
	// is never nil.
	Primary *Module
	// Files holds every file that either runtime reads, by name.
	Files []*File
	// Escapes lists what was not read because it lies, or leads, outside the
	// root directory, or leads nowhere, or back to itself.
	Escapes []Escape
	// Warnings are what the parsers warn of.
	Warnings hcl.Diagnostics
}

// View returns the root module as the runtime reads it, or nil.
func (t *Tree) View(r Runtime) *Module {
	if r == OpenTofu {
		return t.OpenTofu
	}
	return t.Terraform
}

// File returns the file with the given name as it stands in ranges, or nil.
func (t *Tree) File(name string) *File {
	i, ok := slices.BinarySearchFunc(t.Files, name, func(f *File, n string) int {
		return cmp.Compare(f.Name, n)
	})
	if !ok {
		return nil
	}
	return t.Files[i]
}

// File is one file that was read and parsed.
type File struct {
	// Name is the path relative to the root directory, with forward slashes.
	Name string
	// Bytes is the content as it stands on disk.
	Bytes []byte
	// JSON tells whether the file is in HCL's JSON syntax.
	JSON bool
	// Tofu tells whether the name ends in .tofu or .tofu.json, which only
	// OpenTofu reads.
	Tofu bool
	// Override tells whether it is an override file.
	Override bool
	// HCL is the parsed file.
	HCL *hcl.File
}

// Line returns the text of a line, counted from 1, without its line end and
// without a byte order mark. It is nil when there is no such line.
func (f *File) Line(line int) []byte {
	if line < 1 {
		return nil
	}
	rest := bytes.TrimPrefix(f.Bytes, byteOrderMark)
	for ; line > 1; line-- {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return nil
		}
		rest = rest[i+1:]
	}
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return bytes.TrimSuffix(rest, []byte{'\r'})
}

// UTF16Column returns the column of a position in UTF-16 code units, counted
// from 1, as editors and other programs count. A position's own column counts
// characters as a reader sees them, combining marks with their base. It is 0
// when the position is not in the file.
func (f *File) UTF16Column(at hcl.Pos) int {
	if at.Byte < 0 || at.Byte > len(f.Bytes) || at.Line < 1 {
		return 0
	}
	before := f.Bytes[bytes.LastIndexByte(f.Bytes[:at.Byte], '\n')+1 : at.Byte]
	column := 1
	for _, r := range string(bytes.TrimPrefix(before, byteOrderMark)) {
		column += utf16.RuneLen(r)
	}
	return column
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// EscapeKind says why something was not followed.
type EscapeKind string

// The reasons for which a local call or a file is not read.
const (
	// EscapeOutside is a path that ends outside the root directory, be it
	// directly or through a symbolic link.
	EscapeOutside EscapeKind = "outside"
	// EscapeUnresolved is a local call of a directory that does not exist, is
	// no directory, or holds no module file.
	EscapeUnresolved EscapeKind = "unresolved"
	// EscapeCycle is a local call that leads back to a module it is called from
	// (lint.md L15).
	EscapeCycle EscapeKind = "cycle"
	// EscapeBarePath is a source that is meant as a local path, but that both
	// runtimes refuse as one: "." or ".." alone (lint.md L16), or a relative
	// path without a leading "./".
	EscapeBarePath EscapeKind = "bare-path"
	// EscapeAbsolute is a source that is an absolute path. The runtimes take it,
	// but nothing is there where the module runs in an image.
	EscapeAbsolute EscapeKind = "absolute"
	// EscapeFile is a module file that is a symbolic link to a place outside
	// the root directory.
	EscapeFile EscapeKind = "file"
)

// Escape records a local module call or a module file that is not read,
// because it does not resolve to a place inside the root directory.
type Escape struct {
	Kind EscapeKind
	// Call is the name of the module call; empty for a file.
	Call string
	// Source is the call's source, or the file's name.
	Source string
	// Target is where it leads, as far as is known: a path, or for a cycle the
	// directories of the cycle joined by " -> ".
	Target string
	// Range is the source argument of the call. For a file it is the file's
	// first line.
	Range hcl.Range
	// Runtimes lists the runtimes that read the call or file.
	Runtimes []Runtime
}

// Complete tells that every file of the module was read. A file that leads out of
// the root directory was not, though the runtimes follow the link, so that a
// declaration which is missing from such a module may be in that file.
func (t *Tree) Complete(m *Module) bool {
	return !slices.ContainsFunc(t.Escapes, func(e Escape) bool {
		return e.Kind == EscapeFile && path.Dir(e.Source) == m.Dir && slices.Contains(e.Runtimes, m.Runtime)
	})
}

// Modules returns every module of the runtime's view, the root first, then the
// local modules in the order of their directories. A module that is called more
// than once is listed once.
func (t *Tree) Modules(r Runtime) []*Module {
	root := t.View(r)
	if root == nil {
		return nil
	}
	return root.Tree()
}
