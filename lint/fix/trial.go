package fix

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

// followUps are findings that a fix may lead to: they say what is left to do
// with an input that was not declared before.
var followUps = []string{"input/tags-unused", "input/unused"}

// trial loads and checks an edited module in memory.
type trial struct {
	options lint.Options
	files   map[string][]byte
	tree    *module.Tree
	before  []lint.Finding
}

func newTrial(tree *module.Tree, o lint.Options) (*trial, error) {
	t := &trial{options: o, files: map[string][]byte{}}
	for _, f := range tree.Files {
		t.files[f.Name] = f.Bytes
	}
	var err error
	if t.tree, t.before, err = t.run(nil); err != nil {
		return nil, fmt.Errorf("trying edits of %s: %w", tree.Root, err)
	}
	return t, nil
}

// run loads the module with some files replaced, and checks it.
func (t *trial) run(edited map[string][]byte) (*module.Tree, []lint.Finding, error) {
	files := maps.Clone(t.files)
	maps.Copy(files, edited)
	fsys, err := inMemory(files)
	if err != nil {
		return nil, nil, err
	}
	tree, err := module.LoadFS(fsys, "/module", module.Options{})
	if err != nil {
		return nil, nil, err
	}
	report, err := lint.Check(tree, t.options)
	if err != nil {
		return nil, nil, err
	}
	return tree, report.Findings, nil
}

// inMemory returns a file system with the files.
func inMemory(files map[string][]byte) (fs.FS, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
}

// check says why edits are not to be made; nil if they can.
func (t *trial) check(edited map[string][]byte) error {
	tree, findings, err := t.run(edited)
	if err != nil {
		return fmt.Errorf("the module would not load any more: %s", firstProblem(err))
	}
	for _, r := range module.Runtimes() {
		was, is := t.tree.View(r), tree.View(r)
		if was != nil && len(was.Unsupported) == 0 && (is == nil || len(is.Unsupported) > 0) {
			return fmt.Errorf("%s would not load the module any more", r)
		}
	}
	known := map[string]int{}
	for _, f := range t.before {
		known[identity(f)]++
	}
	for _, f := range findings {
		if known[identity(f)]--; known[identity(f)] < 0 && !slices.Contains(followUps, f.ID) {
			return fmt.Errorf("it would lead to another finding: %s %s: %s", f.Severity, f.ID, f.Message)
		}
	}
	return nil
}

// identity is what stays the same of a finding while lines move.
func identity(f lint.Finding) string {
	return strings.Join([]string{f.ID, string(f.Severity), f.File, f.Message}, "\x00")
}

func firstProblem(err error) string {
	if load, ok := errors.AsType[*module.LoadError](err); ok && len(load.Problems) > 0 {
		return module.Message(load.Problems[0])
	}
	return err.Error()
}

// accepted tells that the finding of a check whose message has the text is
// allowed, by a comment in the module or by the options.
func (t *trial) accepted(id, text string) bool {
	return slices.ContainsFunc(t.before, func(f lint.Finding) bool {
		return f.ID == id && f.Allowed != "" && strings.Contains(f.Message, text)
	})
}

// wrongShape returns an error about what an output holds.
func (t *trial) wrongShape(output string) (lint.Finding, bool) {
	o := t.tree.Primary.Output(output)
	i := slices.IndexFunc(t.before, func(f lint.Finding) bool {
		at := o.RangeOf("value")
		return f.ID == "output/shape" && f.Severity == lint.SeverityError &&
			(strings.Contains(f.Message, output) || f.File == at.Filename && at.Start.Line <= f.Line && f.Line <= at.End.Line)
	})
	if i < 0 {
		return lint.Finding{}, false
	}
	return t.before[i], true
}
