package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/go-version"
)

// EnvRuntime names the environment variable that selects the runtime when no
// path is given: a path, or a command name looked up on PATH.
const EnvRuntime = "CAPTF_RUNTIME"

// Kind tells the two runtimes apart.
type Kind string

// The runtimes.
const (
	OpenTofu  Kind = "opentofu"
	Terraform Kind = "terraform"
)

// Title is the product's own spelling of its name.
func (k Kind) Title() string {
	switch k {
	case OpenTofu:
		return "OpenTofu"
	case Terraform:
		return "Terraform"
	}
	return string(k)
}

// Oldest is the oldest version that is accepted, such as 1.6.0; empty for a kind that is not known.
func (k Kind) Oldest() string {
	if floor := floors[k]; floor != nil {
		return floor.String()
	}
	return ""
}

// Oldest versions that run modules of the contract (modules.md 1.2).
var floors = map[Kind]*version.Version{
	OpenTofu:  version.Must(version.NewVersion("1.6.0")),
	Terraform: version.Must(version.NewVersion("1.5.0")),
}

// First versions whose init has -json.
var initJSON = map[Kind]*version.Version{
	OpenTofu:  version.Must(version.NewVersion("1.8.0")),
	Terraform: version.Must(version.NewVersion("1.9.0")),
}

// Commands that are tried on PATH, in order.
var commands = []string{"tofu", "terraform"}

// Binary is a runtime that answered a version request and is new enough.
type Binary struct {
	// Path is absolute.
	Path string
	Kind Kind
	// Version has no leading "v", such as "1.12.6".
	Version string

	parsed *version.Version
}

// String is the name and version, such as "OpenTofu 1.12.6".
func (b *Binary) String() string { return b.Kind.Title() + " " + b.Version }

// AtLeast reports whether the runtime is the given version or a newer one.
// Pre-releases count as the release they lead to.
func (b *Binary) AtLeast(minimum string) bool {
	m, err := version.NewVersion(minimum)
	return err == nil && b.atLeast(m)
}

func (b *Binary) atLeast(minimum *version.Version) bool {
	return b.parsed != nil && b.parsed.Core().GreaterThanOrEqual(minimum)
}

// Options say where [Find] looks. The zero value is useful.
type Options struct {
	// Path is a path or a command name; empty means the environment variable
	// CAPTF_RUNTIME, then tofu, then terraform on PATH.
	Path string
	// Timeout bounds the version request; zero means 30 s.
	Timeout time.Duration
}

// FindReason says why a candidate is not usable.
type FindReason string

// Reasons of a [FindError].
const (
	Missing       FindReason = "missing"
	NotExecutable FindReason = "not executable"
	TooOld        FindReason = "too old"
	Garbage       FindReason = "unknown answer"
	Hung          FindReason = "no answer"
	Crashed       FindReason = "crashed"
)

// FindError reports a candidate that cannot serve as runtime.
type FindError struct {
	// Path is what was asked for or found.
	Path   string
	Reason FindReason
	// Detail is a whole sentence without the path; it says what to do.
	Detail string
	Err    error
}

// Error implements error.
func (e *FindError) Error() string {
	return fmt.Sprintf("finding a runtime: %s: %s", e.Path, e.Detail)
}

// Unwrap returns the cause.
func (e *FindError) Unwrap() error { return e.Err }

// Find returns the runtime to use. A runtime that is named, by Options.Path or
// by CAPTF_RUNTIME, is used or the reason against it returned. Otherwise the
// first usable one of tofu and terraform on PATH is returned; if there is none,
// the error holds a [FindError] for each candidate.
func Find(ctx context.Context, o Options) (*Binary, error) {
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	name := o.Path
	if name == "" {
		name = os.Getenv(EnvRuntime)
	}
	if name != "" {
		return probe(ctx, name, o.Timeout)
	}
	var errs []error
	for _, c := range commands {
		b, err := probe(ctx, c, o.Timeout)
		if err == nil {
			return b, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		var fe *FindError
		if errors.As(err, &fe) && fe.Reason == Missing {
			continue
		}
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return nil, &FindError{
		Path: strings.Join(commands, ", "), Reason: Missing,
		Detail: "neither is on PATH; install OpenTofu or Terraform, or name one with --runtime or " + EnvRuntime,
		Err:    exec.ErrNotFound,
	}
}

var versionLine = regexp.MustCompile(`(?m)^(OpenTofu|Terraform) v([0-9]+\.[0-9]+\.[0-9]+\S*)\s*$`)

// probe asks one candidate who it is. It asks for the plain version text and not
// for -json, whose answer does not say which of the two products gave it.
func probe(ctx context.Context, name string, timeout time.Duration) (*Binary, error) {
	path, err := lookup(name)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "captf-version-")
	if err != nil {
		return nil, fmt.Errorf("finding a runtime: %w", err)
	}
	defer os.RemoveAll(dir)

	out := newTail(64 << 10)
	errOut := newTail(4 << 10)
	end, err := execute(ctx, command{
		path: path, args: []string{"version"}, dir: dir, env: environment(os.Environ(), dir, os.DevNull, nil),
		stdout:   func(l line) { out.add(l.text) },
		stderr:   func(l line) { errOut.add(l.text) },
		deadline: timeout, grace: time.Second,
	})
	if err != nil {
		reason, detail := Crashed, "it cannot be started: "+err.Error()
		if errors.Is(err, fs.ErrPermission) {
			reason, detail = NotExecutable, "it is not executable; set its execute permission or name another runtime"
		}
		return nil, &FindError{Path: path, Reason: reason, Detail: detail, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("finding a runtime: asking %s for its version: %w", path, context.Cause(ctx))
	}
	switch {
	case end.timedOut:
		return nil, &FindError{Path: path, Reason: Hung, Err: context.DeadlineExceeded,
			Detail: fmt.Sprintf("it did not answer \"version\" within %s; name another runtime", timeout)}
	case end.signal != "":
		return nil, &FindError{Path: path, Reason: Crashed,
			Detail: fmt.Sprintf("\"version\" was ended by signal %s%s", end.signal, said(errOut))}
	case end.exitCode != 0:
		return nil, &FindError{Path: path, Reason: Crashed,
			Detail: fmt.Sprintf("\"version\" ended with exit code %d%s", end.exitCode, said(errOut))}
	}
	m := versionLine.FindStringSubmatch(out.String())
	if m == nil {
		return nil, &FindError{Path: path, Reason: Garbage,
			Detail: fmt.Sprintf("\"version\" did not answer as OpenTofu or Terraform do%s; name another runtime", said(out))}
	}
	kind := OpenTofu
	if m[1] == Terraform.Title() {
		kind = Terraform
	}
	parsed, err := version.NewVersion(m[2])
	if err != nil {
		return nil, &FindError{Path: path, Reason: Garbage, Detail: fmt.Sprintf("%q is not a version", m[2]), Err: err}
	}
	b := &Binary{Path: path, Kind: kind, Version: m[2], parsed: parsed}
	if floor := floors[kind]; !b.atLeast(floor) {
		return nil, &FindError{Path: path, Reason: TooOld,
			Detail: fmt.Sprintf("%s is too old; install %s %s or newer", b, kind.Title(), floor)}
	}
	return b, nil
}

// lookup turns a name into an absolute path of a file that may be executed.
func lookup(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil || errors.Is(err, exec.ErrDot) {
		abs, aerr := filepath.Abs(path)
		if aerr != nil {
			return "", fmt.Errorf("finding a runtime: %w", aerr)
		}
		return abs, nil
	}
	fe := &FindError{Path: name, Reason: Missing, Err: err, Detail: "there is no such command on PATH"}
	if strings.ContainsRune(name, filepath.Separator) {
		fe.Detail = "there is no such file"
		info, serr := os.Stat(name)
		switch {
		case serr == nil && info.IsDir():
			fe.Reason, fe.Detail = NotExecutable, "it is a directory; give the path of the binary in it"
		case serr == nil:
			fe.Reason, fe.Detail = NotExecutable, "it is not executable; set its execute permission or name another runtime"
		case !errors.Is(serr, fs.ErrNotExist):
			fe.Reason, fe.Detail = NotExecutable, "it cannot be read: "+serr.Error()
		}
	}
	return "", fe
}

// said quotes the start of what a runtime printed, for errors.
func said(t *tail) string {
	b := bytes.TrimSpace([]byte(t.String()))
	if len(b) == 0 {
		return ""
	}
	if !readable(string(b)) {
		return "; what it printed is no text"
	}
	const most = 200
	if len(b) > most {
		b = append(b[:most:most], "…"...)
	}
	return fmt.Sprintf("; it printed %q", b)
}
