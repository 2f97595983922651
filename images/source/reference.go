package source

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Kind is where an image comes from.
type Kind int

// The kinds of references.
const (
	// Registry is registry/repository:tag or @digest.
	Registry Kind = iota
	// Layout is oci:DIR, an OCI layout directory.
	Layout
	// Tarball is tarball:FILE, a tar archive.
	Tarball
)

// Prefixes of references that are not in a registry.
const (
	layoutPrefix  = "oci:"
	tarballPrefix = "tarball:"
)

// Reference is a parsed reference.
type Reference struct {
	// Kind says where the image is.
	Kind Kind
	// Text is the reference as it was given.
	Text string
	// Name is the registry reference, for Registry.
	Name name.Reference
	// Tag is the tag of a registry reference, also when a digest fixes it.
	Tag string
	// Path is the directory or file, for Layout and Tarball.
	Path string
	// Select picks one of several images of a layout or archive: its reference
	// name, or empty.
	Select string
	// Digest picks one by digest; the zero value picks none.
	Digest v1.Hash
}

// String returns the reference as it was given.
func (r Reference) String() string { return r.Text }

var schemePattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*://`)

// ParseReference understands registry/repository:tag, registry/repository@digest,
// both together, oci:DIR, oci:DIR:NAME, oci:DIR@digest, tarball:FILE,
// tarball:FILE:NAME and tarball:FILE@digest (lint.md 5.1). Its errors are
// ErrReference. It reads nothing, but it looks whether files exist, because
// their names may hold colons.
func ParseReference(text string, insecure bool) (Reference, error) {
	const op = "reading image reference"
	ref := Reference{Text: text}
	switch {
	case text == "":
		return ref, fail(ErrReference, op, "the reference is empty").
			hint("give registry/repository:tag, oci:DIR or tarball:FILE")
	case strings.HasPrefix(text, layoutPrefix):
		ref.Kind = Layout
		err := ref.local(op, text[len(layoutPrefix):], "a directory: oci:DIR")
		return ref, err
	case strings.HasPrefix(text, tarballPrefix):
		ref.Kind = Tarball
		err := ref.local(op, text[len(tarballPrefix):], "a file: tarball:FILE")
		return ref, err
	case schemePattern.MatchString(text):
		ref.Text = scrub(text)
		return ref, fail(ErrReference, op, "%s has a scheme", ref.Text).
			hint("write registry/repository:tag without %s", schemePattern.FindString(text))
	}
	if host, _, ok := strings.Cut(text, "/"); ok && strings.Contains(host, "@") {
		ref.Text = "(a reference with credentials)"
		return ref, fail(ErrReference, op, "the reference holds credentials").
			hint("log in with docker login or podman login, and leave them out of the reference")
	}
	for _, prefix := range []string{"docker-archive:", "oci-archive:", "docker:", "containers-storage:", "dir:", "docker-daemon:", "podman:"} {
		if rest, ok := strings.CutPrefix(text, prefix); ok && !portLike(rest) {
			hint := "use registry/repository:tag, oci:DIR or tarball:FILE"
			if strings.HasSuffix(prefix, "-archive:") {
				hint = "use tarball:" + rest
			}
			return ref, fail(ErrReference, op, "%s: the transport %s is not supported", text, prefix).hint("%s", hint)
		}
	}
	var opts []name.Option
	if insecure {
		opts = append(opts, name.Insecure)
	}
	parsed, err := name.ParseReference(text, opts...)
	if err != nil {
		e := fail(ErrReference, op, "%s: %s", printable(text), why(text))
		e.Hint = localHint(text)
		if e.Hint == "" {
			e.Hint = "give registry/repository:tag, registry/repository@sha256:..., oci:DIR or tarball:FILE"
		}
		return ref, e
	}
	if host, _, _ := strings.Cut(text, "/"); !strings.ContainsAny(host, ".:") || host == text {
		if hint := localHint(text); hint != "" && isImage(text) {
			return ref, fail(ErrReference, op, "%s is a path here, and a name in Docker's registry", text).hint("%s", hint)
		}
	}
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") {
		return ref, fail(ErrReference, op, "%s looks like a path", text).hint("%s", localHint(text))
	}
	ref.Name = parsed
	before, digest, pinned := strings.Cut(text, "@")
	if i := strings.LastIndex(before, ":"); i > strings.LastIndex(before, "/") {
		ref.Tag = before[i+1:]
	}
	if pinned {
		if ref.Digest, err = v1.NewHash(digest); err != nil {
			return ref, fail(ErrReference, op, "%s: %s", text, printable(err.Error())).hint("a digest is sha256: and 64 hexadecimal digits")
		}
	} else if ref.Tag == "" {
		ref.Tag = parsed.Identifier()
	}
	return ref, nil
}

// why says more than the library's error of all kinds of references.
func why(text string) string {
	var err error
	if strings.Contains(text, "@") {
		_, err = name.NewDigest(text)
	} else {
		_, err = name.NewTag(text)
	}
	if err == nil {
		return "it cannot be understood"
	}
	if strings.ToLower(text) != text {
		if _, lower := name.ParseReference(strings.ToLower(text)); lower == nil {
			return "the name of a repository has lower-case letters only"
		}
	}
	return printable(err.Error())
}

// isImage says that a path is a file, or an OCI layout directory.
func isImage(path string) bool {
	info, err := os.Stat(path)
	return err == nil && (!info.IsDir() || exists(filepath.Join(path, "oci-layout")))
}

// portLike tells registry:5000/x from transport:x.
func portLike(s string) bool {
	port, _, _ := strings.Cut(s, "/")
	return port != "" && strings.Trim(port, "0123456789") == ""
}

func localHint(text string) string {
	info, err := os.Stat(text)
	switch {
	case err == nil && info.IsDir():
		return "for an OCI layout directory write oci:" + text
	case err == nil:
		return "for a tar archive write tarball:" + text
	case strings.HasPrefix(text, "/") || strings.HasPrefix(text, "."):
		return "write oci:DIR for an OCI layout directory, tarball:FILE for a tar archive"
	}
	return ""
}

// local splits what follows oci: or tarball: into a path and a selection.
func (r *Reference) local(op, rest, want string) error {
	if rest == "" {
		return fail(ErrReference, op, "%s names nothing", r.Text).hint("give %s", want)
	}
	if strings.ContainsRune(rest, 0) {
		return fail(ErrReference, op, "the reference holds a NUL byte")
	}
	r.Path = rest
	if exists(rest) {
		return nil
	}
	if i := strings.LastIndex(rest, "@"); i > 0 && strings.Contains(rest[i:], ":") {
		digest, err := v1.NewHash(rest[i+1:])
		if err != nil {
			return fail(ErrReference, op, "%s: %s", r.Text, printable(err.Error())).hint("a digest is sha256: and 64 hexadecimal digits")
		}
		r.Digest, rest = digest, rest[:i]
		r.Path = rest
		if exists(rest) {
			return nil
		}
	}
	for i := range len(rest) {
		if rest[i] == ':' && i > 0 && i < len(rest)-1 && exists(rest[:i]) {
			r.Path, r.Select = rest[:i], rest[i+1:]
			return nil
		}
	}
	return nil // Opening it says that it does not exist.
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Clean(path))
	return err == nil
}
