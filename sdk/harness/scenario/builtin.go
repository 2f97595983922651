package scenario

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/sdk/harness"
)

//go:embed common/*.yaml
var common embed.FS

// Common are the scenario files that are the same for every control plane: one
// for each kind of fault, among others.
func Common() fs.FS {
	sub, err := fs.Sub(common, "common")
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return sub
}

// Builtins reads the scenarios that are built in for a control plane: those of
// the given file systems that name it, or name none. A scenario that is a whole
// life comes first, faults come last. It panics over a file that is wrong, since
// they are part of the program.
func Builtins(cp *harness.ControlPlane, files ...fs.FS) []harness.Scenario {
	type entry struct {
		src  *source
		text []byte
	}
	entries := map[string]entry{}
	var ids []string
	for _, fsys := range files {
		names, err := fs.Glob(fsys, "*.yaml")
		if err != nil {
			panic(err) // the pattern is a constant
		}
		for _, name := range names {
			text, err := fs.ReadFile(fsys, name)
			if err != nil {
				panic(fmt.Errorf("reading the scenario %s: %w", name, err))
			}
			src := decode(name, text)
			if err := src.err(); err != nil {
				panic(err)
			}
			if planes := src.file.ControlPlanes; len(planes) > 0 && !slices.Contains(planes, cp.Name) {
				continue
			}
			if _, twice := entries[src.file.ID]; twice {
				panic(fmt.Errorf("%s: there is a second scenario %s", name, src.file.ID))
			}
			entries[src.file.ID] = entry{src, text}
			ids = append(ids, src.file.ID)
		}
	}
	slices.SortFunc(ids, compareIDs)
	o := Options{
		Planes: []*harness.ControlPlane{cp}, Builtins: ids,
		Builtin: func(id string) (File, bool) {
			e, ok := entries[id]
			if !ok {
				return File{}, false
			}
			return e.src.file, true
		},
	}
	out := make([]harness.Scenario, 0, len(ids))
	for _, id := range ids {
		e := entries[id]
		s, err := e.src.build(o)
		if err != nil {
			panic(err)
		}
		s.Text = string(e.text)
		out = append(out, s)
	}
	return out
}

var digits = regexp.MustCompile(`\d+`)

// compareIDs orders ids as people do: a life first, K2 before K10, faults last.
func compareIDs(a, b string) int {
	rank := func(id string) int {
		switch {
		case strings.HasSuffix(id, "life"):
			return 0
		case strings.HasPrefix(id, "fault-"):
			return 2
		}
		return 1
	}
	padded := func(id string) string {
		return digits.ReplaceAllStringFunc(id, func(n string) string { return strings.Repeat("0", max(0, 6-len(n))) + n })
	}
	return cmp.Or(rank(a)-rank(b), strings.Compare(padded(a), padded(b)))
}

// OptionsFor returns what a user's scenario file may refer to under a control
// plane: the scenarios that are built in.
func OptionsFor(cp *harness.ControlPlane) Options {
	o := Options{Planes: []*harness.ControlPlane{cp}}
	files := map[string]string{}
	for _, s := range cp.Scenarios {
		o.Builtins = append(o.Builtins, s.ID)
		files[s.ID] = s.Text
	}
	o.Builtin = func(id string) (File, bool) {
		text, ok := files[id]
		if !ok {
			return File{}, false
		}
		src := decode(id, []byte(text))
		return src.file, src.err() == nil
	}
	return o
}
