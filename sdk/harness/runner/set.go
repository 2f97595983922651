package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/module"
)

// Set is a set of modules that make a cluster together: one for the cluster,
// one for its machines and perhaps one for pools.
type Set struct {
	members map[contract.Role]*member
}

// member is the module of one role.
type member struct {
	role contract.Role
	// dir is the directory as the user gave it, for messages.
	dir string
	// real is absolute and without symbolic links.
	real string
	tree *module.Tree
	// declared is what captf-harness.json says; nil without the file.
	declared *membershipFile
}

// OpenSet opens the set in dir, which holds a directory for each role, named
// cluster, machine and machinepool; the last may be missing.
func OpenSet(dir string) (*Set, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("opening module set: %w", err)
	}
	dirs := map[contract.Role]string{}
	for _, role := range contract.Roles() {
		path := filepath.Join(dir, string(role))
		switch info, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("opening module set %s: %w", dir, err)
		case !info.IsDir():
			return nil, fmt.Errorf("opening module set %s: %s is not a directory", dir, path)
		default:
			dirs[role] = path
		}
	}
	if missing := missingRoles(dirs); len(missing) > 0 {
		return nil, fmt.Errorf("opening module set %s: it has no directory %s; %s",
			dir, strings.Join(missing, " and no directory "), setHint(entries))
	}
	return OpenDirs(dirs)
}

// setHint says what a directory holds that was expected to be a set.
func setHint(entries []fs.DirEntry) string {
	const most = 8
	var dirs []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".tf") || strings.HasSuffix(name, ".tf.json") || strings.HasSuffix(name, ".tofu") {
			return "it looks like a module itself: name the directory above it, or give each role's directory with --cluster, --machine and --machinepool"
		}
		if e.IsDir() && !strings.HasPrefix(name, ".") {
			dirs = append(dirs, name)
		}
	}
	if len(dirs) == 0 {
		return "it has no directories at all"
	}
	if len(dirs) > most {
		dirs = append(dirs[:most:most], "…")
	}
	return "it has " + strings.Join(dirs, ", ") + "; give each role's directory with --cluster, --machine and --machinepool if they are named otherwise"
}

// missingRoles are the roles without which no cluster can be played.
func missingRoles(dirs map[contract.Role]string) []string {
	var missing []string
	for _, role := range []contract.Role{contract.RoleCluster, contract.RoleMachine} {
		if dirs[role] == "" {
			missing = append(missing, string(role))
		}
	}
	return missing
}

// OpenDirs opens a set of modules that lie anywhere. It needs a module for the
// cluster and one for machines.
func OpenDirs(dirs map[contract.Role]string) (*Set, error) {
	if missing := missingRoles(dirs); len(missing) > 0 {
		return nil, fmt.Errorf("opening module set: it has no module for role %s; a cluster needs at least cluster and machine",
			strings.Join(missing, " and none for role "))
	}
	set := &Set{members: map[contract.Role]*member{}}
	var errs []error
	for _, role := range contract.Roles() {
		dir := dirs[role]
		if dir == "" {
			continue
		}
		m, err := openMember(role, dir)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		set.members[role] = m
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return set, nil
}

func openMember(role contract.Role, dir string) (*member, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the %s module: %w", role, err)
	}
	// The generated root names the module by a relative path, which the operating
	// system follows from where the directory really is.
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("opening the %s module: %w", role, err)
	}
	tree, err := module.Load(dir, module.Options{})
	if err != nil {
		return nil, fmt.Errorf("opening the %s module: %w", role, err)
	}
	if err := resolved(dir, tree); err != nil {
		return nil, fmt.Errorf("opening the %s module: %w", role, err)
	}
	declared, err := readMembership(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the %s module: %w", role, err)
	}
	return &member{role: role, dir: dir, real: real, tree: tree, declared: declared}, nil
}

// resolved checks that every local call leads to a module. The runtimes would
// say so too, but not where the call is.
func resolved(dir string, tree *module.Tree) error {
	var errs []error
	for _, e := range tree.Escapes {
		at := fmt.Sprintf("%s:%d", filepath.Join(dir, filepath.FromSlash(e.Range.Filename)), e.Range.Start.Line)
		switch e.Kind {
		case module.EscapeUnresolved:
			errs = append(errs, fmt.Errorf("%s: module %q: %s holds no module", at, e.Call, e.Source))
		case module.EscapeCycle:
			errs = append(errs, fmt.Errorf("%s: module %q: %s leads back to a module that it is called from: %s", at, e.Call, e.Source, e.Target))
		case module.EscapeBarePath:
			errs = append(errs, fmt.Errorf("%s: module %q: the runtimes do not take %q for a path; start it with ./ or ../", at, e.Call, e.Source))
		case module.EscapeOutside, module.EscapeAbsolute, module.EscapeFile:
			// The runtime can follow it here, though not in an image.
		}
	}
	return errors.Join(errs...)
}

// Roles returns the roles that the set has, in contract order.
func (s *Set) Roles() []contract.Role {
	return slices.DeleteFunc(contract.Roles(), func(r contract.Role) bool { return s.members[r] == nil })
}

// Dir returns the directory of a role's module as the user gave it, "" when
// the set has none.
func (s *Set) Dir(role contract.Role) string {
	if m := s.members[role]; m != nil {
		return m.dir
	}
	return ""
}

// view returns the module as the runtime reads it.
func (m *member) view(r module.Runtime) (*module.Module, error) {
	if v := m.tree.View(r); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("opening the %s module: %s reads no file in %s; name the other runtime with --runtime", m.role, r, m.dir)
}

// place returns where something was declared, as a path that opens from where
// the directory was given, with the line.
func (m *member) place(file string, line int) string {
	return fmt.Sprintf("%s:%d", filepath.Join(m.dir, filepath.FromSlash(file)), line)
}
