package build

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/regular"
	"github.com/captf-toolkit/captf/sdk/module"
)

// MirrorMode says where the provider mirror of an image comes from.
type MirrorMode string

// The modes.
const (
	// MirrorMake lets the runtime download the providers.
	MirrorMake MirrorMode = "make"
	// MirrorDir takes a directory.
	MirrorDir MirrorMode = "directory"
	// MirrorNone makes an image without mirror: init downloads the providers in
	// every Job.
	MirrorNone MirrorMode = "none"
)

// Requirement is a provider that a module requires.
type Requirement struct {
	// Provider is its address HOST/NAMESPACE/TYPE.
	Provider string `json:"provider"`
	// Constraint is what the module and its local modules ask of the version,
	// all together; empty when any will do.
	Constraint string `json:"constraint"`
}

// Requirements returns the providers that a module and the local modules that it
// calls need from a mirror, by address: those of required_providers blocks, and
// those that are only used. The runtimes' own provider is not among them.
func Requirements(root *module.Module) []Requirement {
	wanted := map[string][]string{}
	need := func(p *module.RequiredProvider) {
		address := strings.ToLower(p.Address(root.Runtime))
		if image.Builtin(address) {
			return
		}
		list := wanted[address]
		if p.Version != "" && !slices.Contains(list, p.Version) {
			list = append(list, p.Version)
		}
		wanted[address] = list
	}
	for _, m := range root.Tree() {
		local := func(name string) {
			if m.Required(name) == nil {
				need(&module.RequiredProvider{Name: name})
			}
		}
		for _, p := range m.RequiredProviders {
			need(p)
		}
		for _, p := range m.Providers {
			local(p.Name)
		}
		for _, r := range m.Resources {
			if r.Provider != nil {
				local(r.Provider.Name)
				continue
			}
			name, _, _ := strings.Cut(r.Type, "_")
			local(name)
		}
	}
	var out []Requirement
	for _, address := range slices.Sorted(maps.Keys(wanted)) {
		slices.Sort(wanted[address])
		out = append(out, Requirement{Provider: address, Constraint: strings.Join(wanted[address], ", ")})
	}
	return out
}

// mirror is a provider mirror on this machine.
type mirror struct {
	dir     string
	content image.Mirror
	files   []string
}

// readMirror lists a mirror.
func readMirror(root string) (*mirror, error) {
	resolved, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("reading provider mirror: %w", err)
	}
	m := &mirror{dir: resolved}
	err = filepath.WalkDir(resolved, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		info, err := os.Stat(at) // a mirror may link to a cache of providers
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", at)
		}
		rel, err := filepath.Rel(resolved, at)
		if err != nil {
			return err
		}
		m.files = append(m.files, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading provider mirror: %w", err)
	}
	m.content = image.ParseMirror(m.files)
	return m, nil
}

// choose picks the package of each provider for each platform: the newest
// version that meets the constraints and is there for all platforms. The
// packages are in the order of needs.
func (m *mirror) choose(needs []Requirement, platforms []image.Platform) (map[image.Platform][]image.Package, error) {
	chosen := map[image.Platform][]image.Package{}
	var problems []error
	for _, need := range needs {
		var versions []string
		found := map[string]map[image.Platform]image.Package{}
		for i, p := range platforms {
			packages, err := m.content.Find(need.Provider, need.Constraint, p)
			if err != nil {
				return nil, fmt.Errorf("checking provider mirror: %w", err)
			}
			if len(packages) == 0 {
				problems = append(problems, m.missing(need, p))
			}
			for _, pkg := range packages {
				if found[pkg.Version] == nil {
					found[pkg.Version] = map[image.Platform]image.Package{}
					if i == 0 {
						versions = append(versions, pkg.Version) // the oldest first
					}
				}
				if _, ok := found[pkg.Version][p]; !ok {
					found[pkg.Version][p] = pkg
				}
			}
		}
		slices.Reverse(versions)
		i := slices.IndexFunc(versions, func(v string) bool { return len(found[v]) == len(platforms) })
		if i < 0 {
			if len(problems) == 0 {
				problems = append(problems, fmt.Errorf("provider %s has no version that is there for every platform; mirror one for %s", need.Provider, platformNames(platforms)))
			}
			continue
		}
		for p, pkg := range found[versions[i]] {
			chosen[p] = append(chosen[p], pkg)
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("checking provider mirror %s: %w", m.dir, errors.Join(problems...))
	}
	return chosen, nil
}

// missing says that a provider is not in the mirror, and what is there instead.
func (m *mirror) missing(need Requirement, on image.Platform) error {
	var have []string
	for _, p := range m.content.Packages {
		if p.Provider == need.Provider {
			have = append(have, fmt.Sprintf("%s for %s", p.Version, p.Platform))
		}
	}
	wanted := need.Provider
	if need.Constraint != "" {
		wanted += " " + need.Constraint
	}
	if len(have) == 0 {
		return fmt.Errorf("provider %s is missing for %s", wanted, on)
	}
	return fmt.Errorf("provider %s is missing for %s; there is %s", wanted, on, strings.Join(have, ", "))
}

func platformNames(list []image.Platform) string {
	names := make([]string, 0, len(list))
	for _, p := range list {
		names = append(names, p.String())
	}
	return strings.Join(names, ", ")
}

// entries returns the packages below the directory at, which is part of it.
func (m *mirror) entries(at string, packages []image.Package) ([]entry, error) {
	dirs := map[string]bool{at: true}
	var out []entry
	for _, p := range packages {
		for _, rel := range m.files {
			if rel != p.Path && !strings.HasPrefix(rel, p.Path+"/") {
				continue
			}
			on := filepath.Join(m.dir, filepath.FromSlash(rel))
			info, err := os.Stat(on)
			if err != nil {
				return nil, fmt.Errorf("reading provider mirror: %w", err)
			}
			name := path.Join(at, rel)
			e := file(name, on, info, image.UserID)
			if p.Packed {
				e.mode = fileMode
			}
			out = append(out, e)
			for d := path.Dir(name); len(d) > len(at); d = path.Dir(d) {
				dirs[d] = true
			}
		}
	}
	for d := range dirs {
		out = append(out, dir(d, image.UserID))
	}
	return out, nil
}

// maxOutput is how much of a runtime's output is kept for an error, in bytes.
const maxOutput = 16 << 10

// makeMirror lets the runtime download the providers into the directory to. It
// works on a copy of the module, because installing local modules writes there.
func makeMirror(ctx context.Context, binary string, src *contents, lock string, o Options, scratch, to string) error {
	work := filepath.Join(scratch, "mirror-source")
	if err := os.Mkdir(work, 0o700); err != nil {
		return fmt.Errorf("making provider mirror: %w", err)
	}
	if err := src.copyTo(work); err != nil {
		return err
	}
	if lock != "" {
		if err := copyFile(lock, filepath.Join(work, filepath.Base(lock))); err != nil {
			return fmt.Errorf("making provider mirror: %w", err)
		}
	}
	// The command does not create the directory when no provider is needed.
	if err := os.MkdirAll(to, 0o700); err != nil {
		return fmt.Errorf("making provider mirror: %w", err)
	}
	config := o.CLIConfig
	if config == "" {
		config = filepath.Join(scratch, "cli.tfrc")
		if err := os.WriteFile(config, []byte("disable_checkpoint = true\n"), 0o600); err != nil {
			return fmt.Errorf("making provider mirror: %w", err)
		}
	}
	// The runtime would wait for a pipe.
	f, _, err := regular.Open(config)
	if err != nil {
		return fmt.Errorf("making provider mirror: reading the configuration: %w", err)
	}
	_ = f.Close()
	config, err = filepath.Abs(config)
	if err != nil {
		return fmt.Errorf("making provider mirror: %w", err)
	}
	mirrorArgs := []string{"providers", "mirror", "-no-color"}
	for _, p := range o.Platforms {
		mirrorArgs = append(mirrorArgs, "-platform="+p.Underscored())
	}
	// Without "get" the command fails when there are local modules.
	for _, args := range [][]string{{"get", "-no-color"}, append(mirrorArgs, to)} {
		start := time.Now()
		if err := runRuntime(ctx, binary, work, config, args); err != nil {
			return fmt.Errorf("making provider mirror: %w", err)
		}
		o.progress("ran %s %s in %s", filepath.Base(binary), args[0], since(start))
	}
	return nil
}

// runRuntime runs the runtime without the caller's settings of it.
func runRuntime(ctx context.Context, binary, work, config string, args []string) error {
	var out tail
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = work
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	cmd.Stdout, cmd.Stderr = &out, &out
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		// Credentials of registries stay: TF_TOKEN_<host>.
		if !strings.HasPrefix(name, "TF_") || strings.HasPrefix(name, "TF_TOKEN_") || name == "TF_REGISTRY_CLIENT_TIMEOUT" {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+config, "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1")
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("running %s %s: %w\n%s", filepath.Base(binary), strings.Join(args, " "), err, strings.TrimSpace(out.String()))
	}
	return nil
}

// tail keeps the end of what is written.
type tail struct{ buf bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.buf.Write(p)
	if over := t.buf.Len() - maxOutput; over > maxOutput {
		t.buf.Next(over)
	}
	return len(p), nil
}

func (t *tail) String() string { return t.buf.String() }

// lockFile returns the module's lock file, "" when it has none. The mirror is
// made with it, because it says which versions were tested.
func lockFile(root string) string {
	at := filepath.Join(root, ".terraform.lock.hcl")
	if info, err := os.Lstat(at); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return at
}

// mirrorBinary is the runtime that can run here, to make a mirror.
func mirrorBinary(r *runtimes, o Options) (string, error) {
	if o.MirrorRuntime != "" {
		return o.MirrorRuntime, nil
	}
	if b := r.binaries[host()]; b != nil {
		return filepath.Abs(b.path)
	}
	name := cmp.Or(string(r.kind), string(image.OpenTofu))
	found, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("making provider mirror: none of the binaries runs on %s, and %s is not on PATH: give a mirror directory, or do without one", host(), name)
	}
	return found, nil
}
