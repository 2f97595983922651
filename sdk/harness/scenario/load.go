package scenario

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/sdk/harness"
)

// Options say what a scenario may refer to.
type Options struct {
	// Planes are the control planes that scenarios can be played with; the first
	// is asked about files that name none.
	Planes []*harness.ControlPlane
	// Builtin returns the scenario with an id that a file may include; nil knows none.
	Builtin func(id string) (File, bool)
	// Builtins are the ids that Builtin knows, for suggestions.
	Builtins []string
	// Files is where files that are included by path are read from; nil reads none.
	Files fs.FS
}

// Load reads a scenario from a file on disk. Files that it includes lie in its
// directory or below.
func Load(name string, o Options) (harness.Scenario, error) {
	f, err := os.Open(name)
	if err != nil {
		return harness.Scenario{}, fmt.Errorf("reading the scenario: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return harness.Scenario{}, fmt.Errorf("reading the scenario %s: %w", name, err)
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return harness.Scenario{}, fmt.Errorf("reading the scenario %s: %w", name, err)
	}
	defer root.Close()
	o.Files = root.FS()
	s, err := Parse(name, text, o)
	s.File = name
	return s, err
}

// Parse reads a scenario. Errors are of type [Error], joined, and name the file
// as name does.
func Parse(name string, text []byte, o Options) (harness.Scenario, error) {
	src := decode(name, text)
	if err := src.err(); err != nil {
		return harness.Scenario{}, err
	}
	return src.build(o)
}

// Build makes a scenario of a file's content, as [Parse] does.
func Build(f File, o Options) (harness.Scenario, error) {
	return (&source{name: f.ID, file: f, places: map[string]place{}}).build(o)
}

func (s *source) build(o Options) (harness.Scenario, error) {
	if len(s.file.Steps)+len(s.file.Include) == 0 {
		s.fail("", "the scenario has neither steps nor include, so nothing would happen")
		return harness.Scenario{}, s.err()
	}
	l := &loader{options: o, root: s}
	steps := l.steps(s, path.Dir(filepath.ToSlash(filepath.Base(s.name))), []string{s.file.ID})
	if err := s.err(); err != nil {
		return harness.Scenario{}, err
	}
	planes := s.planes(o)
	c := &checker{src: s, planes: planes}
	c.scenario()
	out := s.compile()
	for n, at := range steps {
		if n == MaxSteps {
			s.fail("steps", "the scenario has %d steps, included ones counted, and may have %d", len(steps), MaxSteps)
			break
		}
		out.Steps = append(out.Steps, c.step(at, n == len(steps)-1))
	}
	c.end()
	return out, s.err()
}

// located is a step with the file that it stands in.
type located struct {
	Step
	path string
	// included tells that it stands in another file, which is right by itself.
	included string
}

type loader struct {
	options Options
	root    *source
}

// steps returns the steps of a file, those of the files that it includes first.
// trail are the files that lead here, for finding a cycle.
func (l *loader) steps(s *source, dir string, trail []string) []located {
	var out []located
	for n, name := range s.file.Include {
		at := fmt.Sprintf("include[%d]", n)
		if s != l.root {
			at = "include"
		}
		included, id, ok := l.find(at, dir, name)
		if !ok {
			continue
		}
		if slices.Contains(trail, id) {
			l.root.fail(at, "the scenario includes itself: %s", strings.Join(append(trail, id), " → "))
			continue
		}
		if len(trail) > MaxIncludes {
			l.root.fail(at, "scenarios include each other more than %d deep", MaxIncludes)
			continue
		}
		below := l.steps(included, path.Dir(path.Join(dir, name)), append(slices.Clone(trail), id))
		if last := len(below) - 1; last >= 0 && below[last].Ask != nil && below[last].Ask.Delete {
			below = below[:last]
		}
		for i := range below {
			below[i].path, below[i].included = at, id
		}
		if out = append(out, below...); len(out) > MaxSteps {
			break
		}
	}
	for n, step := range s.file.Steps {
		out = append(out, located{Step: step, path: fmt.Sprintf("steps[%d]", n)})
	}
	return out
}

// find reads what is included: a file if the name looks like a path, else a
// scenario that is built in.
func (l *loader) find(at, dir, name string) (s *source, id string, ok bool) {
	if !strings.ContainsAny(name, "/\\") && !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml") && !strings.HasSuffix(name, ".json") {
		if l.options.Builtin != nil {
			if f, known := l.options.Builtin(name); known {
				return &source{name: f.ID, file: f, places: map[string]place{}}, f.ID, true
			}
		}
		l.root.fail(at, "there is no scenario %q%s; a file is included by a path such as ./%s.yaml", name, meant(name, l.options.Builtins), name)
		return nil, "", false
	}
	file := path.Join(dir, filepath.ToSlash(name))
	if l.options.Files == nil || !fs.ValidPath(file) {
		l.root.fail(at, "%q leads out of the directory of the scenario; included files lie beside it or below", name)
		return nil, "", false
	}
	f, err := l.options.Files.Open(file)
	if err != nil {
		l.root.fail(at, "reading what is included: %s", err)
		return nil, "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		l.root.fail(at, "reading what is included: %s", err)
		return nil, "", false
	}
	included := decode(path.Join(path.Dir(filepath.ToSlash(l.root.name)), file), text)
	if err := included.err(); err != nil {
		l.root.errs = append(l.root.errs, err)
		return nil, "", false
	}
	return included, included.file.ID, true
}

// planes returns the control planes that a scenario is for.
func (s *source) planes(o Options) []*harness.ControlPlane {
	if len(s.file.ControlPlanes) == 0 {
		return o.Planes[:min(len(o.Planes), 1)]
	}
	var out []*harness.ControlPlane
	for _, cp := range o.Planes {
		if slices.Contains(s.file.ControlPlanes, cp.Name) {
			out = append(out, cp)
		}
	}
	return out
}

// Is tells that an error is one of scenario files, rather than of reading them.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
