package simcloud

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// RecordOptions say what [Record] writes.
type RecordOptions struct {
	// Source is the provider; "" takes the only one that is there.
	Source string
	// Version and Protocol go into the head, if what is read does not say them.
	Version  string
	Protocol int
	// Types are the types that are kept; nil keeps all.
	Types *Types
}

// recording is a schema on its way into a file.
type recording struct {
	Header
	Provider   *jsonSchema              `json:"provider"`
	Resources  map[string]*jsonSchema   `json:"resource_schemas,omitempty"`
	Data       map[string]*jsonSchema   `json:"data_source_schemas,omitempty"`
	Ephemerals map[string]*jsonSchema   `json:"ephemeral_resource_schemas,omitempty"`
	Functions  map[string]*jsonFunction `json:"functions,omitempty"`
}

// keep remembers a schema as it was read.
func (r *recording) keep(kind, name string, j *jsonSchema) {
	if r == nil {
		return
	}
	list := map[string]*map[string]*jsonSchema{"resource": &r.Resources, "data source": &r.Data, "ephemeral resource": &r.Ephemerals}[kind]
	if *list == nil {
		*list = map[string]*jsonSchema{}
	}
	(*list)[name] = j
}

// MarshalJSONTo implements [json.MarshalerTo].
func (t *jsonType) MarshalJSONTo(e *jsontext.Encoder) error { return writeType(e, t.t) }

func writeType(e *jsontext.Encoder, t tftypes.Type) error {
	list := func(kind string, inside func() error) error {
		if err := errors.Join(e.WriteToken(jsontext.BeginArray), e.WriteToken(jsontext.String(kind))); err != nil {
			return err
		}
		if err := inside(); err != nil {
			return err
		}
		return e.WriteToken(jsontext.EndArray)
	}
	switch t := t.(type) {
	case tftypes.List:
		return list("list", func() error { return writeType(e, t.ElementType) })
	case tftypes.Set:
		return list("set", func() error { return writeType(e, t.ElementType) })
	case tftypes.Map:
		return list("map", func() error { return writeType(e, t.ElementType) })
	case tftypes.Tuple:
		return list("tuple", func() error {
			if err := e.WriteToken(jsontext.BeginArray); err != nil {
				return err
			}
			for _, x := range t.ElementTypes {
				if err := writeType(e, x); err != nil {
					return err
				}
			}
			return e.WriteToken(jsontext.EndArray)
		})
	case tftypes.Object:
		return list("object", func() error {
			if err := e.WriteToken(jsontext.BeginObject); err != nil {
				return err
			}
			for _, name := range keys(t.AttributeTypes) {
				if err := e.WriteToken(jsontext.String(name)); err != nil {
					return err
				}
				if err := writeType(e, t.AttributeTypes[name]); err != nil {
					return err
				}
			}
			return e.WriteToken(jsontext.EndObject)
		})
	}
	for name, p := range primitives {
		if t != nil && t.Is(p) {
			return e.WriteToken(jsontext.String(name))
		}
	}
	return fmt.Errorf("a type cannot be written: %v", t)
}

// Record reads a schema (see [ReadSchema]) and writes it as a file of this package,
// packed with gzip: without the texts for people, and with the wanted types only. The
// same schema gives the same bytes.
func Record(w io.Writer, r io.Reader, o RecordOptions) (Entry, error) {
	rec := &recording{}
	s, err := readSchema(r, ReadOptions{Source: o.Source, Types: o.Types}, rec)
	if err != nil {
		return Entry{}, err
	}
	if s.Source == "" {
		return Entry{}, errors.New("it does not say of which provider it is: name the provider")
	}
	rec.Header = s.Header
	rec.Form = FileVersion
	if rec.Version == "" {
		rec.Version = o.Version
	}
	if rec.Protocol == 0 {
		rec.Protocol = o.Protocol
	}
	has := Types{Resources: set(rec.Resources), Data: set(rec.Data), Ephemerals: set(rec.Ephemerals)}
	rec.Pruned = rec.Pruned || !s.Has.Without(has).Empty()
	if rec.Provider == nil {
		rec.Provider = &jsonSchema{}
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err == nil {
		err = json.MarshalWrite(z, rec, json.Deterministic(true))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return Entry{}, fmt.Errorf("writing it: %w", err)
	}
	return Entry{Header: rec.Header, Types: has}, nil
}

func set[V any](m map[string]V) map[string]bool {
	out := map[string]bool{}
	for k := range m {
		out[k] = true
	}
	return out
}

// FileName is the usual name of the file with the schema of a provider.
func FileName(source string) string { return fileName(source) + ".json.gz" }
