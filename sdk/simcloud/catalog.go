package simcloud

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Catalog knows where the schemas of providers are: in files that a user names,
// or else among those that are built in. It keeps what it has read, so several
// servers can be started from one without reading anything twice. It may be used
// from several goroutines.
type Catalog struct {
	builtin fs.FS

	mu     sync.Mutex
	files  map[string]string
	loaded map[string]*Schema
}

// builtinDir is the directory of the built-in schemas.
const builtinDir = "recorded"

// NewCatalog returns a catalog of the schemas recorded/NAMESPACE_TYPE.json.gz in a
// file system, which may be nil.
func NewCatalog(builtin fs.FS) *Catalog {
	return &Catalog{builtin: builtin, files: map[string]string{}, loaded: map[string]*Schema{}}
}

// AddFile adds a file with the schema of a provider, which is used instead of a
// built-in one; source may be "" if the file says it.
func (c *Catalog) AddFile(source, file string) error {
	s, err := ReadSchemaFile(file, ReadOptions{Source: source, Types: &Types{}})
	if err != nil {
		return err
	}
	if s.Source == "" {
		return fmt.Errorf("reading provider schema %s: it does not say of which provider it is: give it as SOURCE=FILE", file)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.files[s.Source]; ok && old != file {
		return fmt.Errorf("reading provider schema %s: %s has the schema of %s too", file, old, s.Source)
	}
	c.files[s.Source] = file
	return nil
}

// NoSchemaError tells that there is no schema of a provider.
type NoSchemaError struct {
	// Source is the provider.
	Source string
}

// Error implements error.
func (e *NoSchemaError) Error() string {
	return fmt.Sprintf("there is no recorded schema of the provider %s; record one where the provider can be installed, "+
		"with: captf simcloud record --provider %s --output FILE, and give it with --schema FILE", e.Source, e.Source)
}

// Schema returns the schema of a provider with the types that are wanted; nil is all.
// Without a schema the error is a [NoSchemaError].
func (c *Catalog) Schema(source string, types *Types, p *Persona) (*Schema, error) {
	source = PlainSource(source)
	key := source + "\x00" + types.key()
	if p != nil {
		key += "\x00" + p.Source + p.Title
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.loaded[key]; s != nil {
		return s, nil
	}
	s, err := c.read(source, ReadOptions{Source: source, Types: types, Persona: p})
	if err == nil {
		c.loaded[key] = s
	}
	return s, err
}

func (c *Catalog) read(source string, o ReadOptions) (*Schema, error) {
	if file, ok := c.files[source]; ok {
		return ReadSchemaFile(file, o)
	}
	if c.builtin == nil {
		return nil, &NoSchemaError{Source: source}
	}
	name := path.Join(builtinDir, FileName(source))
	f, err := c.builtin.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NoSchemaError{Source: source}
	}
	if err != nil {
		return nil, fmt.Errorf("reading provider schema %s: %w", name, err)
	}
	defer f.Close()
	return readNamed(f, name, o)
}

func fileName(source string) string { return strings.ReplaceAll(source, "/", "_") }

// key tells wishes apart.
func (t *Types) key() string {
	if t == nil {
		return "all"
	}
	var parts []string
	for _, m := range []map[string]bool{t.Resources, t.Data, t.Ephemerals} {
		parts = append(parts, strings.Join(keys(m), ","))
	}
	return strings.Join(parts, ";") + strconv.FormatBool(t.Functions)
}

// Entry is one schema of a catalog.
type Entry struct {
	Header
	// File is the user's file; "" for a schema that is built in.
	File string
	// Types are what it has.
	Types Types
}

// Entries returns what the catalog has, by source.
func (c *Catalog) Entries() ([]Entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Entry
	for _, source := range keys(c.files) {
		s, err := ReadSchemaFile(c.files[source], ReadOptions{Source: source, Types: &Types{}})
		if err != nil {
			return nil, err
		}
		out = append(out, Entry{Header: s.Header, File: c.files[source], Types: s.Has})
	}
	if c.builtin != nil {
		names, err := fs.Glob(c.builtin, path.Join(builtinDir, "*.json.gz"))
		if err != nil {
			return nil, fmt.Errorf("listing the built-in schemas: %w", err)
		}
		for _, name := range names {
			f, err := c.builtin.Open(name)
			if err != nil {
				return nil, fmt.Errorf("reading provider schema %s: %w", name, err)
			}
			s, err := readNamed(f, name, ReadOptions{Types: &Types{}})
			if err = errors.Join(err, f.Close()); err != nil {
				return nil, err
			}
			if _, mine := c.files[s.Source]; !mine {
				out = append(out, Entry{Header: s.Header, Types: s.Has})
			}
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Source, b.Source) })
	return out, nil
}
