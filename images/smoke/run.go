package smoke

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/binary"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/unpack"
	"github.com/captf-toolkit/captf/sdk/module"
)

// Options say how to try an image out.
type Options struct {
	// Role and Contract are what the module is written for.
	Role     contract.Role
	Contract contract.Definition
	// Variables are the values of user variables for the apply.
	Variables []contract.Variable
	// Isolation is how the runtime is kept from the machine; empty is IsolateAuto.
	Isolation Isolation
	// Timeout bounds each step; 0 is five minutes.
	Timeout time.Duration
	// TempDir is where the image is unpacked; empty means the system's directory
	// for temporary files. It needs room for the whole image.
	TempDir string
	// Progress gets a line for each step; nil is silent.
	Progress func(line string)
}

// Isolation says how the runtime is kept from the machine.
type Isolation string

// The ways.
const (
	// IsolateAuto isolates as far as the machine allows.
	IsolateAuto Isolation = "auto"
	// IsolateStrictly makes it an error when the machine does not allow it.
	IsolateStrictly Isolation = "strict"
	// IsolateNever runs the runtime as any other program: for images that are trusted.
	IsolateNever Isolation = "never"
)

// Isolations returns the ways, the default first.
func Isolations() []Isolation { return []Isolation{IsolateAuto, IsolateStrictly, IsolateNever} }

// Step is one command of the runtime.
type Step struct {
	// Name is the subcommand, Args are all arguments.
	Name string   `json:"name"`
	Args []string `json:"args"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
	// Exit is its exit code; -1 when it was killed or did not start.
	Exit int `json:"exit"`
	// Error says what went wrong, "" when nothing did.
	Error string `json:"error,omitempty"`
}

// Report is what came of it.
type Report struct {
	// Passed tells that every step succeeded.
	Passed bool `json:"passed"`
	// Runtime and Version are what the runtime says that it is.
	Runtime string `json:"runtime,omitempty"`
	Version string `json:"version,omitempty"`
	// Steps are the commands that were run, in order.
	Steps []Step `json:"steps"`
	// Damaged says which layers are not what the image's config or their tables of
	// contents say. Nothing is run then.
	Damaged []string `json:"damaged,omitempty"`
	// NotIsolated says what could not be kept from the runtime.
	NotIsolated []string `json:"notIsolated,omitempty"`
	// Notes say what was not tried, and why, and what else is worth knowing.
	Notes []string `json:"notes,omitempty"`
}

// ErrNotIsolated is the error of a strict run on a machine that does not allow
// to isolate the runtime.
var ErrNotIsolated = errors.New("the machine does not allow to isolate the runtime")

const defaultTimeout = 5 * time.Minute

// damages are the problems for which nodes refuse an image, or see another one
// than we do.
func damages(files *rootfs.FS) []string {
	var out []string
	for _, p := range files.Problems() {
		if p.Kind == rootfs.ProblemDiffID || p.Kind == rootfs.ProblemTOC {
			out = append(out, p.Message)
		}
	}
	return out
}

// Run unpacks the image and tries it out. A step that fails, or a layer that is
// damaged, is in the report; an error means that nothing can be said about the
// image. Whether layers are damaged is known of those that were read whole: open
// the files with rootfs.Options.IgnoreTOC.
func Run(ctx context.Context, files *rootfs.FS, o Options) (_ *Report, err error) {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	config := files.Image().Config
	if want := Host(); config.OS != want.OS || config.Architecture != want.Arch {
		return nil, fmt.Errorf("running the image: it is for %s/%s, and this machine is %s; ask for that platform", config.OS, config.Architecture, want)
	}
	if damaged := damages(files); len(damaged) > 0 {
		return &Report{Steps: []Step{}, Damaged: damaged}, nil
	}
	dir, err := os.MkdirTemp(o.TempDir, "captf-smoke-*")
	if err != nil {
		return nil, fmt.Errorf("making a directory to unpack the image: %w", err)
	}
	defer func() { err = errors.Join(err, unpack.Remove(dir)) }()
	start := time.Now()
	size, err := unpack.Into(ctx, files, filepath.Join(dir, "rootfs"), unpack.Options{})
	if err != nil {
		return nil, err
	}
	o.Progress(fmt.Sprintf("unpacked the image, %d MB (%s)", size/1e6, time.Since(start).Round(10*time.Millisecond)))

	t := &trial{o: o, files: files, report: &Report{Steps: []Step{}}}
	if t.box, t.report.NotIsolated, err = o.sandbox(ctx, dir, config.Config.User); err != nil {
		return nil, err
	}
	if problems := t.report.NotIsolated; o.Isolation == IsolateStrictly && len(problems) > 0 {
		return nil, fmt.Errorf("running the image: %w: %s", ErrNotIsolated, strings.Join(problems, "; "))
	}
	if err := t.run(ctx, config.Config.Env); err != nil {
		return nil, err
	}
	return t.report, nil
}

func (o Options) sandbox(ctx context.Context, dir, user string) (sandbox, []string, error) {
	if o.Isolation != IsolateNever {
		return newSandbox(ctx, dir, user)
	}
	box := open{newPlace(dir)}
	for _, d := range []string{box.work, box.tmp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, nil, fmt.Errorf("making the work directory: %w", err)
		}
	}
	return box, []string{"the file system and the network of this machine, as was asked for"}, nil
}

// trial is one run.
type trial struct {
	o     Options
	files *rootfs.FS
	box   sandbox
	env   []string
	// runtime is the path in the image that RuntimePath leads to.
	runtime string
	mirror  bool
	report  *Report
}

func (t *trial) run(ctx context.Context, imageEnv []string) error {
	e, err := t.files.Stat(image.RuntimePath)
	if err != nil || !e.IsRegular() {
		return fmt.Errorf("running the image: it has no runtime at %s", image.RuntimePath)
	}
	t.runtime = e.Path
	e, err = t.files.Stat(image.ProvidersPath)
	t.mirror = err == nil && e.IsDir()
	var dropped []string
	t.env, dropped = image.Environment(imageEnv, "default", t.mirror)
	if len(dropped) > 0 {
		t.note("the image sets %s, which a Job drops", strings.Join(dropped, ", "))
	}
	if err := t.prepare(); err != nil {
		return err
	}
	out, ok := t.step(ctx, "version", "-json")
	if !ok {
		return ctx.Err()
	}
	t.readVersion(out)
	if _, ok := t.step(ctx, "init", "-backend=false", "-input=false", "-no-color"); !ok {
		return ctx.Err()
	}
	if _, ok := t.step(ctx, "validate", "-json", "-no-color"); !ok {
		return ctx.Err()
	}
	ok, err = t.life(ctx)
	if err != nil {
		return err
	}
	t.report.Passed = ok && ctx.Err() == nil
	return ctx.Err()
}

func (t *trial) note(format string, args ...any) {
	t.report.Notes = append(t.report.Notes, fmt.Sprintf(format, args...))
}

// prepare copies the module to where a Job has its root, and writes the
// runtime's configuration.
func (t *trial) prepare() error {
	if err := t.copyModule(image.RootPath); err != nil {
		return err
	}
	if !t.mirror {
		t.note("the image has no provider mirror: init can only find built-in providers")
		return nil
	}
	config := strings.ReplaceAll(image.CLIConfig, image.ProvidersPath, t.box.seen(image.ProvidersPath))
	if err := os.WriteFile(t.box.host(image.CLIConfigPath), []byte(config), 0o600); err != nil {
		return fmt.Errorf("writing the runtime's configuration: %w", err)
	}
	return nil
}

func (t *trial) copyModule(to string) error {
	e, err := t.files.Stat(image.ModulePath)
	if err != nil || !e.IsDir() {
		return fmt.Errorf("copying the module: the image has no directory %s", image.ModulePath)
	}
	if err := os.CopyFS(t.box.host(to), os.DirFS(filepath.Join(t.box.rootfs(), filepath.FromSlash(e.Path)))); err != nil {
		return fmt.Errorf("copying the module: %w", err)
	}
	return nil
}

// step runs one command in the root of the run and returns its standard output.
func (t *trial) step(ctx context.Context, name string, args ...string) ([]byte, bool) {
	s := Step{Name: name, Args: append([]string{name}, args...)}
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, t.o.Timeout)
	defer cancel()
	out, errs, err := t.box.exec(limited, t.env, image.RootPath, append([]string{t.runtime}, s.Args...))
	s.Seconds = time.Since(start).Seconds()
	var exit interface{ ExitCode() int }
	switch {
	case errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil:
		s.Exit, s.Error = -1, fmt.Sprintf("it did not end within %s and was killed", t.o.Timeout)
	case errors.As(err, &exit):
		s.Exit, s.Error = exit.ExitCode(), summary(out, errs)
	case err != nil:
		s.Exit, s.Error = -1, err.Error()
		if missing := t.unmet(); missing != "" {
			s.Error = missing
		}
	}
	result := "ok"
	if s.Error != "" {
		result = "failed"
	}
	t.o.Progress(fmt.Sprintf("%s %s: %s (%s)", filepath.Base(t.runtime), name, result, time.Since(start).Round(time.Millisecond)))
	t.report.Steps = append(t.report.Steps, s)
	return out, s.Error == ""
}

// unmet says what a runtime that could not be started needs and the image does
// not have, "" for nothing: the system's error names the runtime, which is there.
func (t *trial) unmet() string {
	f, err := os.OpenInRoot(t.box.rootfs(), unpack.Local(t.runtime))
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	if line, ok := strings.CutPrefix(firstLine(string(head[:n])), "#!"); ok {
		fields := strings.Fields(line)
		if len(fields) == 0 || t.has(fields[0]) {
			return ""
		}
		return fmt.Sprintf("%s is a script for %s, which the image does not have: it has to be the runtime's own binary", image.RuntimePath, shorten(fields[0]))
	}
	info, err := binary.Read(f)
	if err != nil || info.Interpreter == "" || t.has(info.Interpreter) {
		return ""
	}
	return fmt.Sprintf("%s needs the loader %s, which the image does not have: use a static binary, or a base image that has it", image.RuntimePath, shorten(info.Interpreter))
}

func (t *trial) has(path string) bool {
	_, err := t.files.Stat(path)
	return err == nil
}

func (t *trial) readVersion(out []byte) {
	var v map[string]any
	if json.Unmarshal(out, &v) != nil {
		t.note("the runtime did not tell its version as JSON")
		return
	}
	// Both runtimes use the key of the first.
	t.report.Version, _ = v["terraform_version"].(string)
	t.report.Runtime = string(image.RuntimeOfFile(t.runtime))
	if label := t.files.Image().Labels()[string(image.LabelRuntimeVersion)]; label != "" && t.report.Version != "" && strings.TrimPrefix(label, "v") != t.report.Version {
		t.note("the label %s says %s, and the runtime is %s", image.LabelRuntimeVersion, label, t.report.Version)
	}
}

// maxSummary is how much of an error is shown (image.md 11).
const maxSummary = 512

// summary says what went wrong: the errors of a JSON result, else the first
// error on standard error, else its end.
func summary(out, errs []byte) string {
	var result struct {
		Diagnostics []struct{ Severity, Summary, Detail string }
	}
	if json.Unmarshal(out, &result) == nil {
		for _, d := range result.Diagnostics {
			if d.Severity == "error" {
				return shorten(strings.TrimSpace(d.Summary + ": " + firstLine(d.Detail)))
			}
		}
	}
	text := string(bytes.TrimSpace(errs))
	if _, after, ok := strings.Cut(text, "Error: "); ok {
		lines := strings.FieldsFunc(after, func(r rune) bool { return r == '\n' || r == '│' || r == '╷' || r == '╵' })
		var kept []string
		for _, l := range lines {
			if l = strings.TrimSpace(l); l != "" {
				kept = append(kept, l)
			}
		}
		return shorten(strings.Join(kept, " "))
	}
	if text == "" {
		return "it said nothing"
	}
	return shorten(text[max(0, len(text)-maxSummary):])
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func shorten(s string) string {
	s = strings.TrimSuffix(strings.TrimSpace(s), ":")
	if len(s) > maxSummary {
		s = strings.ToValidUTF8(s[:maxSummary], "") + "…"
	}
	return s
}

// requiresProviders tells whether the module needs a provider that is not built in.
func requiresProviders(tree *module.Tree) bool {
	for _, m := range tree.Primary.Tree() {
		for _, p := range m.RequiredProviders {
			if !image.Builtin(p.Address(m.Runtime)) {
				return true
			}
		}
		for _, r := range m.Resources {
			if !strings.HasPrefix(r.Type, "terraform_") {
				return true
			}
		}
	}
	return false
}
