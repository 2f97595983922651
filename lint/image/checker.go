package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	contractimage "github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/binary"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/source"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

// checker is what the checks see of the image of one platform, and where they
// report.
type checker struct {
	ctx context.Context
	fs  *rootfs.FS
	img *source.Image
	// platform is what the image's configuration says.
	platform contractimage.Platform
	labels   map[string]string
	role     contract.Role
	contract contract.Definition
	// user is whom the image runs as.
	user user
	// tree is the module, nil when there is none or it cannot be read.
	tree *module.Tree
	// runtime is the file that RuntimePath leads to, nil when there is none, and
	// program what it is, the zero value when that cannot be told.
	runtime *rootfs.Entry
	program binary.Info
	// script says what runs the runtime if it is no ELF executable.
	script *script

	rule     *rule
	findings []lint.Finding
	err      error
}

// report adds a finding of the check that is running; an empty path is the
// image as a whole.
func (c *checker) report(severity lint.Severity, at, remedy, format string, args ...any) {
	c.findings = append(c.findings, lint.Finding{
		ID: c.rule.ID, Severity: severity, File: wholeOr(at), Message: fmt.Sprintf(format, args...), Remedy: remedy,
	})
}

func wholeOr(at string) string {
	if at == "" {
		return lint.WholeModule
	}
	return at
}

func (c *checker) errorf(at, remedy, format string, args ...any) {
	c.report(lint.SeverityError, at, remedy, format, args...)
}

func (c *checker) warnf(at, remedy, format string, args ...any) {
	c.report(lint.SeverityWarning, at, remedy, format, args...)
}

func (c *checker) infof(at, remedy, format string, args ...any) {
	c.report(lint.SeverityInfo, at, remedy, format, args...)
}

// fail ends the checks: the image cannot be read any further.
func (c *checker) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// walk visits what lies at a path and below it, nothing when it is not there.
func (c *checker) walk(dir string, visit func(rootfs.Entry)) {
	err := c.fs.Walk(dir, func(e rootfs.Entry) error {
		visit(e)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.fail(fmt.Errorf("listing %s: %w", dir, err))
	}
}

// exists tells whether a path leads to something.
func (c *checker) exists(p string) bool {
	_, err := c.fs.Stat(p)
	return err == nil
}

// label returns the value of a label and whether it is set.
func (c *checker) label(key contractimage.Key) (string, bool) {
	value, ok := c.labels[string(key)]
	return value, ok
}

// runtimeKind is which runtime the image has: what the binary says, else the
// label, else its name; "" when nothing tells.
func (c *checker) runtimeKind() contractimage.Runtime {
	if c.program.Runtime != "" {
		return c.program.Runtime
	}
	if value, ok := c.label(contractimage.LabelRuntime); ok {
		if r, err := contractimage.ParseRuntime(value); err == nil {
			return r
		}
	}
	if c.runtime != nil {
		return contractimage.RuntimeOfFile(c.runtime.Path)
	}
	return ""
}

// moduleView returns the runtime as package module names it.
func moduleView(r contractimage.Runtime) module.Runtime {
	if r == contractimage.Terraform {
		return module.Terraform
	}
	return module.OpenTofu
}

// views returns the root module as the image's runtime reads it, or, when the
// runtime is not known, in every way in which it can be read.
func (c *checker) views() []*module.Module {
	if c.tree == nil {
		return nil
	}
	if r := c.runtimeKind(); r != "" {
		if m := c.tree.View(moduleView(r)); m != nil {
			return []*module.Module{m}
		}
		return []*module.Module{c.tree.Primary}
	}
	var out []*module.Module
	for _, r := range module.Runtimes() {
		if m := c.tree.View(r); m != nil {
			out = append(out, m)
		}
	}
	return out
}

// loadRuntime finds the runtime and looks at it.
func (c *checker) loadRuntime() error {
	e, err := c.fs.Stat(contractimage.RuntimePath)
	if err != nil || !e.IsRegular() {
		return nil // image/runtime-present says so
	}
	c.runtime = &e
	f, err := c.fs.OpenReaderAt(c.ctx, e.Path)
	if err != nil {
		return fmt.Errorf("reading the runtime %s: %w", e.Path, err)
	}
	defer f.Close()
	// A script or an unknown machine is no reason to stop: the image may be right
	// for a runtime that we cannot look into.
	info, err := binary.Read(f)
	switch {
	case err == nil:
		c.program = info
	case errors.Is(err, binary.ErrNotExecutable):
		head := make([]byte, min(f.Size(), maxShebang))
		n, _ := f.ReadAt(head, 0)
		c.script = interpreterOf(head[:n])
	}
	return c.ctx.Err()
}

// script is a runtime that another program runs; an empty interpreter is a file
// that nothing can start.
type script struct{ interpreter string }

// maxShebang is how long the first line of a script may be, as for Linux.
const maxShebang = 256

func interpreterOf(head []byte) *script {
	line, _, _ := strings.Cut(string(head), "\n")
	rest, ok := strings.CutPrefix(line, "#!")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return &script{}
	}
	return &script{fields[0]}
}

// within puts a path in the module in front of a finding of the module.
func inModule(file string) string { return path.Join(contractimage.ModulePath, file) }
