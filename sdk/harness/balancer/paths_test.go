package balancer

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// schemaBlock is the part of a recorded schema that names things.
type schemaBlock struct {
	Attributes map[string]struct {
		Type any `json:"type"`
	} `json:"attributes"`
	Blocks map[string]struct {
		Block schemaBlock `json:"block"`
	} `json:"block_types"`
}

// has tells that a path leads to an attribute or block.
func (b schemaBlock) has(path string) bool {
	step, rest, more := strings.Cut(path, ".")
	if inner, ok := b.Blocks[step]; ok {
		return !more || inner.Block.has(rest)
	}
	a, ok := b.Attributes[step]
	return ok && (!more || typeHas(a.Type, rest))
}

// typeHas tells that a path leads into the type of an attribute.
func typeHas(typ any, path string) bool {
	parts, ok := typ.([]any)
	if !ok || len(parts) != 2 {
		return false
	}
	if parts[0] != "object" {
		return parts[0] == "map" || typeHas(parts[1], path) // keys of a map are free
	}
	fields, _ := parts[1].(map[string]any)
	step, rest, more := strings.Cut(path, ".")
	field, ok := fields[step]
	return ok && (!more || typeHas(field, rest))
}

// pathsOf returns every path of a row, from the resource.
func pathsOf(t Type) []string {
	var out []string
	add := func(prefix string, paths ...string) {
		for _, p := range paths {
			switch {
			case p == "":
			case strings.HasPrefix(p, "^"):
				out = append(out, p[1:])
			case prefix != "":
				out = append(out, prefix+"."+p)
			default:
				out = append(out, p)
			}
		}
	}
	add("", t.Members...)
	add("", t.Selects)
	if t.Frontend != nil {
		add("", t.Frontend.Groups...)
	}
	if t.Listener != nil {
		add("", append(t.Listener.Ports, t.Listener.Targets...)...)
	}
	if t.Pool != nil {
		add("", t.Pool.Ports...)
		if t.Pool.NoHairpin != nil {
			add("", t.Pool.NoHairpin.Path)
		}
	}
	if t.Attachment != nil {
		add("", t.Attachment.Port, t.Attachment.Pool, t.Attachment.Target)
	}
	if t.Selector != nil {
		add("", t.Selector.Path)
	}
	if h := t.Health; h != nil {
		add("", h.Interval, h.Timeout, h.Healthy, h.Unhealthy, h.Protocol, h.Own)
		blocks := sortedNames(h.Protocols)
		add("", blocks...)
		if len(blocks) == 0 {
			add("", h.Port, h.Path, h.Codes)
		}
		for _, b := range blocks {
			add(b, h.Port)
		}
	}
	if f := t.Firewall; f != nil {
		if f.Group != "id" {
			add("", f.Group)
		}
		add(f.Rules, f.Direction, f.Access, f.Priority, f.Protocol)
		add(f.Rules, f.Ranges...)
		if len(f.Blocks) == 0 {
			add(f.Rules, f.From, f.To)
		}
	}
	if t.Group != nil {
		add("", t.Group.Rolls)
	}
	return out
}

// TestPathsExist compares the paths with the recorded schemas of the providers.
func TestPathsExist(t *testing.T) {
	files, err := filepath.Glob("../../simcloud/schemas/recorded/*.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding recorded schemas: %v", err)
	}
	compared := 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		unpacked, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct {
			Source    string `json:"source"`
			Version   string `json:"version"`
			Resources map[string]struct {
				Block schemaBlock `json:"block"`
			} `json:"resource_schemas"`
		}
		if err := json.NewDecoder(unpacked).Decode(&recorded); err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		for _, typ := range Types() {
			schema, ok := recorded.Resources[typ.Name]
			if !ok || typ.Cloud != recorded.Source {
				continue
			}
			compared++
			for _, path := range pathsOf(typ) {
				if !schema.Block.has(path) {
					t.Errorf("%s has no %s in %s %s", typ.Name, path, recorded.Source, recorded.Version)
				}
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d types are in recorded schemas", compared)
	}
}
