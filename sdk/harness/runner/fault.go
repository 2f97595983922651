package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

const (
	// faultFile is added to a copy of the module, for a run that breaks midway.
	faultFile = "captf_fault.tf.json"
	faultName = "captf_fault"
	faultType = "terraform_data"
	faultText = "the harness breaks this apply on purpose, after the first resource exists"
)

// Limits of a module that is copied.
const (
	maxCopyFiles = 20_000
	maxCopyBytes = 512 << 20
)

// faultCopy is the copy of a module whose apply breaks midway, made when it is
// first asked for.
type faultCopy struct {
	ok    bool
	first faultPlace
	once  sync.Once
	root  root
	err   error
}

// targets are the addresses of the resource that is made first and of the one that fails.
func (f *faultCopy) targets() []string {
	return []string{f.first.target(f.first.resource), f.first.target(faultType + "." + faultName)}
}

// faultPlace is a resource that is created first, and where it is declared.
type faultPlace struct {
	// prefix leads to its module: "" or such as module.net. with a dot.
	prefix string
	// dir is its module's directory, relative and with slashes.
	dir string
	// resource is TYPE.NAME.
	resource string
}

// target is the address of a resource beside the first one, from the generated root.
func (p faultPlace) target(resource string) string { return moduleAddress + "." + p.prefix + resource }

// firstResource picks the resource after which an apply is to break: one that
// is always made, and that needs no other if there is such a one. Resources of
// the module itself are preferred to those of local modules below it.
func firstResource(view *module.Module) (faultPlace, bool) {
	type candidate struct {
		place faultPlace
		rank  int
	}
	var list []candidate
	walkCalls(view, func(prefix string, m *module.Module) {
		needs := dependents(m)
		for _, r := range m.Resources {
			if r.Mode != module.Managed {
				continue
			}
			c := candidate{place: faultPlace{prefix: prefix, dir: m.Dir, resource: r.Address()}}
			if r.Count != nil || r.ForEach != nil || r.Enabled != nil {
				c.rank += 4
			}
			if prefix != "" {
				c.rank += 2
			}
			if needs[r.Address()] {
				c.rank++
			}
			list = append(list, c)
		}
	})
	if len(list) == 0 {
		return faultPlace{}, false
	}
	return slices.MinFunc(list, func(a, b candidate) int { return a.rank - b.rank }).place, true
}

// dependents are the resources of a module that refer to another one, directly
// or through local values and data sources, or to a module call.
func dependents(m *module.Module) map[string]bool {
	// edges lead from a declaration to those it refers to.
	edges := map[string][]string{}
	for _, ref := range m.References() {
		var from string
		switch o := ref.Owner; {
		case o.Resource != nil:
			from = o.Resource.Address()
		case o.Local != nil:
			from = "local." + o.Local.Name
		default:
			continue
		}
		if to := referee(ref.Traversal); to != "" && to != from {
			edges[from] = append(edges[from], to)
		}
	}
	managed := map[string]bool{}
	for _, r := range m.Resources {
		managed[r.Address()] = r.Mode == module.Managed
	}
	out := map[string]bool{}
	for address := range managed {
		seen := map[string]bool{address: true}
		queue := slices.Clone(edges[address])
		for len(queue) > 0 && !out[address] {
			next := queue[0]
			queue = queue[1:]
			if seen[next] {
				continue
			}
			seen[next] = true
			if managed[next] || strings.HasPrefix(next, "module.") {
				out[address] = true
			}
			queue = append(queue, edges[next]...)
		}
	}
	return out
}

// referee is the declaration that a traversal leads to, "" for what is none.
func referee(t hcl.Traversal) string {
	names := []string{}
	for _, step := range t[:min(len(t), 3)] {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, s.Name)
		case hcl.TraverseAttr:
			names = append(names, s.Name)
		}
	}
	switch want := 2; {
	case len(names) < want:
		return ""
	case names[0] == "data":
		if len(names) < want+1 {
			return ""
		}
		return strings.Join(names, ".")
	default:
		return strings.Join(names[:want], ".")
	}
}

// copyDir is where a changed copy of the module lies; name is .fault or .lifted.
func (d *roleDir) copyDir(name string) string { return filepath.Join(d.dir, name, "module") }

// copySource is the source address of a copy for a root in an object's directory.
func copySource(name string) string { return "../" + name + "/module" }

// PartialApply implements [harness.Modules]. It applies a copy of the module
// that holds one more resource, which fails once the first one exists. The plan
// cannot see it coming: what it checks is only known during the apply.
func (r *Runner) PartialApply(ctx context.Context, name string, in contract.Inputs) (*harness.Run, bool, error) {
	o, err := r.object(name, in)
	if err != nil {
		return nil, false, err
	}
	d := o.role
	if !d.fault.ok {
		return nil, false, nil
	}
	d.fault.once.Do(func() { d.fault.err = d.makeFault(ctx) })
	if err := d.fault.err; err != nil {
		if errors.Is(err, errNoCopy) {
			return nil, false, nil
		}
		return nil, false, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	run, err := o.run(ctx, harness.OpApply, in, d.fault.root, func(ctx context.Context, w *runtime.Workdir) (*runtime.Result, error) {
		return w.Apply(ctx, runtime.ApplyOptions{Targets: d.fault.targets()})
	})
	return run, true, err
}

// makeFault makes the copy of the module that holds the fault.
func (d *roleDir) makeFault(ctx context.Context) error {
	rt, err := d.copyFor(ctx, ".fault", func(to string) error {
		text, err := faultJSON(d.fault.first.resource)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, filepath.FromSlash(d.fault.first.dir), faultFile), text, 0o600)
	})
	d.fault.root = rt
	return err
}

// copyFor copies the module, lets change change the copy, and initialises a
// data directory for it.
func (d *roleDir) copyFor(ctx context.Context, name string, change func(to string) error) (root, error) {
	to := d.copyDir(name)
	err := copyModule(d.member.real, to)
	if err == nil {
		err = change(to)
	}
	// As deep as the objects' directories, like that of the role's own init.
	o := &object{role: d, name: "init", dir: filepath.Join(d.dir, name+"-init")}
	rt := root{source: copySource(name), dataDir: filepath.Join(d.dir, name, ".terraform")}
	if err == nil {
		err = d.shareProviders(rt.dataDir)
	}
	if err != nil {
		return root{}, fmt.Errorf("copying the %s module: %w", d.member.role, err)
	}
	if err := o.init(ctx, rt); err != nil {
		return root{}, fmt.Errorf("initialising a copy of the %s module: %w", d.member.role, err)
	}
	return rt, nil
}

// shareProviders lets another data directory have the providers that the role's
// own init installed.
func (d *roleDir) shareProviders(dataDir string) error {
	from := filepath.Join(d.dataDir(), "providers")
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return err
	}
	return os.Symlink(from, filepath.Join(dataDir, "providers"))
}

// faultJSON is a resource that fails when it is created, and not before: what
// timestamp() returns is unknown while planning. The runtimes want a condition
// to refer to something, so it is compared with a path.
func faultJSON(after string) ([]byte, error) {
	return json.MarshalIndent(map[string]any{
		"resource": map[string]any{faultType: map[string]any{faultName: map[string]any{
			"depends_on": []string{after},
			"lifecycle": map[string]any{"precondition": map[string]any{
				"condition":     "${timestamp() == path.module}",
				"error_message": faultText,
			}},
		}}},
	}, "", "  ")
}

// errNoCopy tells that a module does not work in another place.
var errNoCopy = errors.New("it has links that lead outside its directory")

// skipped are the directories that are no part of a module.
var skipped = map[string]bool{".terraform": true, ".git": true, ".captf": true}

// copyModule copies a module's directory without what runtimes and version
// control keep in it. Links are followed inside the directory only.
func copyModule(from, to string) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer src.Close()
	c := &copier{src: src, to: to}
	return c.dir(".", 0)
}

type copier struct {
	src   *os.Root
	to    string
	files int
	bytes int64
}

func (c *copier) dir(name string, depth int) error {
	if depth > module.DefaultMaxDepth {
		return errNoCopy // a loop of links
	}
	if err := os.MkdirAll(filepath.Join(c.to, filepath.FromSlash(name)), 0o700); err != nil {
		return err
	}
	f, err := c.src.Open(name)
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.entry(path.Join(name, e.Name()), e, depth); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) entry(name string, e fs.DirEntry, depth int) error {
	base := e.Name()
	if skipped[base] || strings.HasSuffix(base, ".tfstate") || strings.Contains(base, ".tfstate.") {
		return nil
	}
	info, err := c.src.Stat(name) // follows links, and refuses those that lead out
	if err != nil {
		if e.Type()&fs.ModeSymlink != 0 {
			return errNoCopy
		}
		return err
	}
	switch {
	case info.IsDir():
		return c.dir(name, depth+1)
	case info.Mode().IsRegular():
		return c.file(name, info)
	}
	return nil // sockets and the like are no part of a module
}

func (c *copier) file(name string, info fs.FileInfo) error {
	c.files++
	c.bytes += info.Size()
	if c.files > maxCopyFiles || c.bytes > maxCopyBytes {
		return fmt.Errorf("it has more than %d files or %d MiB", maxCopyFiles, maxCopyBytes>>20)
	}
	in, err := c.src.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	// Provisioners and external data sources run files of the module.
	out, err := os.OpenFile(filepath.Join(c.to, filepath.FromSlash(name)), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
