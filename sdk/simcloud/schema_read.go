package simcloud

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Limits of schema files. The largest provider's schema, with all its texts, is
// less than a tenth of them. Only tests change them.
var (
	maxSchemaPacked int64 = 64 << 20
	maxSchemaBytes  int64 = 512 << 20
)

const maxSchemaTypes = 50_000

// ReadOptions say what of a schema file is read.
type ReadOptions struct {
	// Source is the provider, for files that hold several; "" takes the only one.
	Source string
	// Types are the types that are wanted; nil means all. What is not wanted is not decoded.
	Types *Types
	// Persona tells what of a derived schema the cloud decides.
	Persona *Persona
}

// ReadSchemaFile reads a schema from a file; see [ReadSchema].
func ReadSchemaFile(path string, o ReadOptions) (*Schema, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading a provider schema: %w", err)
	}
	defer f.Close()
	return readNamed(f, path, o)
}

func readNamed(f fs.File, path string, o ReadOptions) (*Schema, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading provider schema %s: %w", path, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("reading provider schema %s: it is no regular file", path)
	}
	s, err := ReadSchema(f, o)
	if err != nil {
		return nil, fmt.Errorf("reading provider schema %s: %w", path, err)
	}
	return s, nil
}

// ReadSchema reads a recorded schema, plain or packed with gzip: a file of
// captf simcloud record (see [Header]), what `providers schema -json` prints, or
// the part of that for one provider. It reads as a stream and with limits.
func ReadSchema(r io.Reader, o ReadOptions) (*Schema, error) { return readSchema(r, o, nil) }

func readSchema(r io.Reader, o ReadOptions, rec *recording) (*Schema, error) {
	packed := &limited{r: r, left: maxSchemaPacked, what: fmt.Sprintf("it is larger than %d MiB", maxSchemaPacked>>20)}
	buffered := bufio.NewReader(packed)
	var text io.Reader = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("unpacking it: %w", err)
		}
		defer z.Close()
		text = &limited{r: z, left: maxSchemaBytes, what: fmt.Sprintf("it unpacks to more than %d MiB", maxSchemaBytes>>20)}
	}
	s := &schemaReader{o: o, rec: rec, d: jsontext.NewDecoder(text, jsontext.AllowDuplicateNames(true))}
	out, err := s.document()
	if err != nil {
		return nil, s.explain(err)
	}
	return out, nil
}

// limited fails where a file goes beyond a limit, rather than ending early.
type limited struct {
	r    io.Reader
	left int64
	what string
}

var errTooLarge = errors.New("too large")

func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, fmt.Errorf("%w: %s", errTooLarge, l.what)
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}

// schemaReader reads one file.
type schemaReader struct {
	o     ReadOptions
	d     *jsontext.Decoder
	types int
	// rec takes what is read as it is, to be written again; nil if it is not.
	rec *recording
}

// explain says of an error where in the file it is.
func (s *schemaReader) explain(err error) error {
	switch {
	case errors.Is(err, errTooLarge):
		return err
	case errors.Is(err, io.EOF):
		return fmt.Errorf("it ends in the middle, after %d bytes of JSON: record it again", s.d.InputOffset())
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(syntactic.Err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return fmt.Errorf("it ends in the middle, after %d bytes of JSON: record it again", syntactic.ByteOffset)
		}
		return fmt.Errorf("it is no JSON of a provider's schema: at byte %d: %w", syntactic.ByteOffset, syntactic.Err)
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok && semantic.Err == nil {
		return fmt.Errorf("at %s: there is a JSON %s that does not belong there", cmp.Or(string(semantic.JSONPointer), "/"), semantic.JSONKind)
	}
	return err
}

// members calls f with each name of the object that comes next; f reads the value.
func (s *schemaReader) members(f func(name string) error) error {
	t, err := s.d.ReadToken()
	if err != nil {
		return err
	}
	if t.Kind() == 'n' {
		return nil
	}
	if t.Kind() != '{' {
		return fmt.Errorf("at %s: a JSON object is expected", cmp.Or(string(s.d.StackPointer()), "/"))
	}
	for s.d.PeekKind() == '"' {
		t, err := s.d.ReadToken()
		if err != nil {
			return err
		}
		if err := f(t.String()); err != nil {
			return err
		}
	}
	_, err = s.d.ReadToken()
	return err
}

// decode reads the next value into x.
func (s *schemaReader) decode(x any) error { return json.UnmarshalDecode(s.d, x) }

// document reads the whole file.
func (s *schemaReader) document() (*Schema, error) {
	out := &Schema{}
	seen := map[string]bool{}
	var others []string
	var chosen *Schema
	err := s.members(func(name string) error {
		seen[name] = true
		if name != "provider_schemas" {
			return s.member(out, name)
		}
		return s.members(func(address string) error {
			source := PlainSource(address)
			others = append(others, source)
			if s.o.Source != "" && source != PlainSource(s.o.Source) {
				return s.d.SkipValue()
			}
			if chosen != nil {
				return s.d.SkipValue()
			}
			chosen = &Schema{Header: Header{Source: source}}
			return s.members(func(name string) error { return s.member(chosen, name) })
		})
	})
	if err != nil {
		return nil, err
	}
	if _, err := s.d.ReadToken(); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, err
		}
		return nil, errors.New("there is more after the end of its JSON")
	}
	if seen["provider_schemas"] {
		switch {
		case chosen == nil:
			return nil, fmt.Errorf("it holds no schema of %s; it has %s", cmp.Or(s.o.Source, "any provider"), orNone(others))
		case s.o.Source == "" && len(others) > 1:
			return nil, fmt.Errorf("it holds the schemas of %s: say which with SOURCE=FILE", strings.Join(others, ", "))
		}
		out = chosen
	}
	return out, s.finish(out)
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// PlainSource is a provider's address without the hosts of the runtimes' own
// registries, which each runtime adds by itself.
func PlainSource(address string) string {
	for _, host := range []string{"registry.terraform.io/", "registry.opentofu.org/"} {
		if rest, ok := strings.CutPrefix(address, host); ok {
			address = rest
		}
	}
	if !strings.Contains(address, "/") {
		address = "hashicorp/" + address
	}
	return strings.ToLower(address)
}

// member reads one member of a provider's schema.
func (s *schemaReader) member(out *Schema, name string) error {
	switch name {
	case "captf_schema":
		return s.decode(&out.Form)
	case "source":
		return s.decode(&out.Source)
	case "version":
		return s.decode(&out.Version)
	case "protocol":
		return s.decode(&out.Protocol)
	case "derived_from":
		return s.decode(&out.DerivedFrom)
	case "pruned":
		return s.decode(&out.Pruned)
	case "provider":
		var j jsonSchema
		if err := s.decode(&j); err != nil {
			return err
		}
		var err error
		if s.rec != nil {
			s.rec.Provider = &j
		}
		out.Provider, err = j.schema()
		if err != nil {
			return fmt.Errorf("the provider's configuration: %w", err)
		}
		return nil
	case "resource_schemas":
		return s.schemas(&out.Resources, &out.Has.Resources, "resource", want(s.o.Types, func(t *Types) map[string]bool { return t.Resources }))
	case "data_source_schemas":
		return s.schemas(&out.Data, &out.Has.Data, "data source", want(s.o.Types, func(t *Types) map[string]bool { return t.Data }))
	case "ephemeral_resource_schemas":
		return s.schemas(&out.Ephemerals, &out.Has.Ephemerals, "ephemeral resource", want(s.o.Types, func(t *Types) map[string]bool { return t.Ephemerals }))
	case "functions":
		if s.o.Types != nil && !s.o.Types.Functions {
			return s.d.SkipValue()
		}
		return s.functions(out)
	}
	return s.d.SkipValue()
}

// want tells which types are decoded; nil is all.
func want(t *Types, list func(*Types) map[string]bool) func(string) bool {
	if t == nil {
		return func(string) bool { return true }
	}
	types := list(t)
	return func(name string) bool { return types[name] }
}

func (s *schemaReader) schemas(out *map[string]*tfprotov6.Schema, has *map[string]bool, kind string, want func(string) bool) error {
	if *out == nil {
		*out, *has = map[string]*tfprotov6.Schema{}, map[string]bool{}
	}
	return s.members(func(typ string) error {
		if s.types++; s.types > maxSchemaTypes {
			return fmt.Errorf("it has more than %d types", maxSchemaTypes)
		}
		(*has)[typ] = true
		if !want(typ) {
			return s.skipSchema(kind, typ)
		}
		var j jsonSchema
		if err := s.decode(&j); err != nil {
			return err
		}
		schema, err := j.schema()
		if err != nil {
			return fmt.Errorf("%s %s: %w", kind, typ, err)
		}
		(*out)[typ] = schema
		s.rec.keep(kind, typ, &j)
		return nil
	})
}

// skipSchema passes over a type that is not wanted, once it is seen to be one:
// what is wrong with a file is said when it is opened, not when a set needs the type.
func (s *schemaReader) skipSchema(kind, typ string) error {
	found := false
	if s.d.PeekKind() == '{' {
		if err := s.members(func(name string) error {
			found = found || name == "block" && s.d.PeekKind() == '{'
			return s.d.SkipValue()
		}); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s %s: it is no schema, which is an object with a block", kind, typ)
	}
	return nil
}

func (s *schemaReader) functions(out *Schema) error {
	out.Functions = map[string]*tfprotov6.Function{}
	return s.members(func(name string) error {
		if s.types++; s.types > maxSchemaTypes {
			return fmt.Errorf("it has more than %d functions", maxSchemaTypes)
		}
		var j jsonFunction
		if err := s.decode(&j); err != nil {
			return err
		}
		f, err := j.function()
		if err != nil {
			return fmt.Errorf("function %s: %w", name, err)
		}
		out.Functions[name] = f
		if s.rec != nil {
			if s.rec.Functions == nil {
				s.rec.Functions = map[string]*jsonFunction{}
			}
			s.rec.Functions[name] = &j
		}
		return nil
	})
}

// finish checks what was read and undoes what a derivation made of it.
func (s *schemaReader) finish(out *Schema) error {
	if out.Form > FileVersion {
		return fmt.Errorf("its form is version %d, and this program knows version %d: use a newer captf", out.Form, FileVersion)
	}
	if out.Protocol != 0 && out.Protocol != 5 && out.Protocol != 6 {
		return fmt.Errorf("it is for version %d of the plugin protocol, and only 5 and 6 are known", out.Protocol)
	}
	if out.Provider == nil && out.Resources == nil && out.Data == nil && out.Functions == nil && out.Ephemerals == nil {
		return errors.New("it holds no schema of a provider; record one with: captf simcloud record")
	}
	switch {
	case out.Source == "":
		out.Source = s.o.Source
	case s.o.Source != "" && PlainSource(out.Source) != PlainSource(s.o.Source):
		return fmt.Errorf("it is the schema of %s and not of %s", out.Source, s.o.Source)
	}
	if out.Source != "" {
		out.Source = PlainSource(out.Source)
	}
	if out.Provider == nil {
		out.Provider = &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}}
	}
	// Schemas made from language bindings declare the meta-arguments too.
	out.Provider.Block.Attributes = slices.DeleteFunc(out.Provider.Block.Attributes, func(a *tfprotov6.SchemaAttribute) bool {
		return a.Name == "alias" || a.Name == "version" && a.Computed
	})
	if out.DerivedFrom == "" && out.Form == 0 && looksDerived(out) {
		out.DerivedFrom = "language bindings"
	}
	if out.DerivedFrom != "" && blurred(out) {
		underive(out, s.o.Persona)
	}
	return nil
}
