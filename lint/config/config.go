// Package config reads .tfcapi-lint.yaml, the file that says which directories
// of a tree are modules of which role and which warnings are allowed there and
// why, and finds the modules of a tree.
//
//	contract: v1alpha1        # optional; the newest version when absent
//	strict: true              # warnings fail the run
//	discover: true            # default: directories named cluster, machine, machinepool are modules
//	exclude:                  # directories that are not looked into
//	  - legacy
//	allow-warnings:           # for all modules
//	  - id: input/user-variable-default
//	    reason: every object has to choose its region
//	modules:                  # modules whose directories have other names
//	  - path: modules/edge-node
//	    role: machine
//	    strict: false
//	    allow-warnings: []
//
// Paths are relative to the file and stay inside its directory. An unknown key
// is an error: a mistyped one would silently check less.
//
// Not in this package: checking the modules (package lint).
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/captf-toolkit/captf/contract"
)

// FileName is the name of the configuration file.
const FileName = ".tfcapi-lint.yaml"

// maxBytes bounds the size of a configuration file.
const maxBytes = 1 << 20

// Config is the content of a configuration file.
type Config struct {
	// Contract is the contract version, empty for the default.
	Contract string
	// Strict makes warnings fail the run.
	Strict bool
	// Discover tells whether directories are recognised by their names.
	Discover bool
	// Exclude lists directories that are not looked into.
	Exclude []string
	// Allow lists the warnings that are allowed in every module.
	Allow []Allowance
	// Modules lists directories with their roles.
	Modules []Module
}

// Allowance is a warning that is allowed, and why.
type Allowance struct {
	ID, Reason string
}

// Module is one entry of the list of modules.
type Module struct {
	// Path is the directory, relative to that of the file, with forward slashes.
	Path string
	Role contract.Role
	// Strict overrides Config.Strict when it is not nil.
	Strict *bool
	// Allow lists the warnings that are allowed in this module beyond Config.Allow.
	Allow []Allowance
}

// Default is the configuration of a tree without a file.
func Default() Config { return Config{Discover: true} }

// Load reads a configuration file. allowable says why a check's findings cannot
// be allowed, such as that there is no such check; nil when they can. An error
// names the file and, if it is about the content, the line.
func Load(file string, allowable func(id string) error) (Config, error) {
	text, err := readFile(file)
	if err != nil {
		return Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	c, err := Parse(file, text, allowable)
	if err != nil {
		return Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	return c, nil
}

func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", file, maxBytes)
	}
	return text, nil
}

// Parse reads the text of a configuration; name is what errors call it.
func Parse(name string, text []byte, allowable func(id string) error) (Config, error) {
	p := parser{name: name, allowable: allowable}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc yaml.Node
	c := Default()
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return c, nil
	case err != nil:
		return Config{}, fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Config{}, fmt.Errorf("%s: there is more than one document in the file", name)
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return c, nil
	}
	err := p.mapping(doc.Content[0], map[string]func(*yaml.Node) error{
		"contract":       p.text(&c.Contract),
		"strict":         p.boolean(&c.Strict),
		"discover":       p.boolean(&c.Discover),
		"exclude":        p.paths(&c.Exclude),
		"allow-warnings": p.allowances(&c.Allow),
		"modules":        p.modules(&c.Modules),
	})
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

type parser struct {
	name      string
	allowable func(string) error
}

func (p parser) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", p.name, n.Line, fmt.Errorf(format, args...))
}

// mapping reads a mapping whose keys are all known; each is read at most once.
func (p parser) mapping(n *yaml.Node, keys map[string]func(*yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, "expected keys with values, such as \"strict: true\"")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read, ok := keys[key.Value]
		if !ok || key.Kind != yaml.ScalarNode {
			return p.errorf(key, "unknown key %q: there are %s", key.Value, names(keys))
		}
		if seen[key.Value] {
			return p.errorf(key, "the key %q is given twice", key.Value)
		}
		seen[key.Value] = true
		if err := read(value); err != nil {
			return err
		}
	}
	return nil
}

func (p parser) list(n *yaml.Node, each func(*yaml.Node) error) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return p.errorf(n, "expected a list")
	}
	for _, item := range n.Content {
		if err := each(item); err != nil {
			return err
		}
	}
	return nil
}

func (p parser) text(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || strings.TrimSpace(n.Value) == "" {
			return p.errorf(n, "expected a text")
		}
		*to = strings.TrimSpace(n.Value)
		return nil
	}
}

func (p parser) boolean(to *bool) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
			return p.errorf(n, "expected true or false")
		}
		return n.Decode(to)
	}
}

func (p parser) path(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := p.text(to)(n); err != nil {
			return err
		}
		clean := path.Clean(filepath.ToSlash(*to))
		if !filepath.IsLocal(filepath.FromSlash(clean)) {
			return p.errorf(n, "the path %q leads out of the directory of this file", *to)
		}
		*to = clean
		return nil
	}
}

func (p parser) paths(to *[]string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		return p.list(n, func(item *yaml.Node) error {
			var s string
			if err := p.path(&s)(item); err != nil {
				return err
			}
			*to = append(*to, s)
			return nil
		})
	}
}

func (p parser) allowances(to *[]Allowance) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		return p.list(n, func(item *yaml.Node) error {
			var a Allowance
			err := p.mapping(item, map[string]func(*yaml.Node) error{"id": p.text(&a.ID), "reason": p.text(&a.Reason)})
			switch {
			case err != nil:
				return err
			case a.ID == "":
				return p.errorf(item, "the allowed warning has no id")
			case a.Reason == "":
				return p.errorf(item, "the allowed warning %s has no reason", a.ID)
			}
			if err := p.allowable(a.ID); err != nil {
				return p.errorf(item, "%w", err)
			}
			*to = append(*to, a)
			return nil
		})
	}
}

func (p parser) modules(to *[]Module) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		seen := map[string]bool{}
		return p.list(n, func(item *yaml.Node) error {
			var m Module
			var role string
			var strict *bool
			err := p.mapping(item, map[string]func(*yaml.Node) error{
				"path":           p.path(&m.Path),
				"role":           p.text(&role),
				"allow-warnings": p.allowances(&m.Allow),
				"strict": func(n *yaml.Node) error {
					strict = new(bool)
					return p.boolean(strict)(n)
				},
			})
			switch {
			case err != nil:
				return err
			case m.Path == "":
				return p.errorf(item, "the module has no path")
			case role == "":
				return p.errorf(item, "the module %s has no role: it is one of %s", m.Path, contract.RoleNames())
			case seen[m.Path]:
				return p.errorf(item, "the module %s is listed twice", m.Path)
			}
			seen[m.Path] = true
			if m.Role, err = contract.ParseRole(role); err != nil {
				return p.errorf(item, "%s", err)
			}
			m.Strict = strict
			*to = append(*to, m)
			return nil
		})
	}
}

func names(keys map[string]func(*yaml.Node) error) string {
	order := []string{"contract", "strict", "discover", "exclude", "allow-warnings", "modules", "path", "role", "id", "reason"}
	var out []string
	for _, name := range order {
		if _, ok := keys[name]; ok {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// isNotExist tells that a path does not exist.
func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
