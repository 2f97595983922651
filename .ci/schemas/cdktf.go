package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The bindings of cdktf and cdktn hold a schema three times: as TypeScript interfaces, which tell what is required; as
// tables from which HCL is written, which tell names, types and blocks; and as getters with a comment, which tell what is
// computed. Bindings of cdktf have lost the comment of what can be set: there every optional attribute counts as computed
// too, as the field derived_from of the head makes known. Those of cdktn have it.

var (
	jsFunction  = regexp.MustCompile(`^function (\w+)ToHclTerraform\(`)
	jsClass     = regexp.MustCompile(`^class (\w+) extends cdkt[fn]\.(\w+)`)
	jsEntry     = regexp.MustCompile(`^\s+(\w+): \{$`)
	jsComment   = regexp.MustCompile(`^\s+// (\w+) - computed: (true|false), optional: (true|false), required: (true|false)`)
	jsReference = regexp.MustCompile(`_\w+ = new (\w+?)(List|OutputReference|MapList|Map)\(this, "(\w+)"(?:, (true|false))?`)
	jsType      = regexp.MustCompile(`tfResourceType = "(\w+)"`)
	jsProperty  = regexp.MustCompile(`(?:this\._|struct\.)(\w+)`)
	jsNested    = regexp.MustCompile(`(\w+)ToHclTerraform`)
	tsInterface = regexp.MustCompile(`^export interface (\w+)`)
	tsProperty  = regexp.MustCompile(`^    readonly (\w+)(\??):`)
)

// entry is one row of a table from which HCL is written.
type entry struct {
	name, property, nested, kind, storage string
	block                                 bool
}

// reference is what a class keeps for a nested block.
type reference struct {
	class string
	many  bool
	set   bool
}

type class struct {
	kind       string
	entries    []entry
	computed   map[string]bool   // by name; only what has a comment
	values     map[string]string // what only computed attributes return
	references map[string]reference
}

// bindings is one resource type with its nested structures.
type bindings struct {
	structs  map[string][]entry         // by the name of the structure
	classes  map[string]*class          // by name
	required map[string]map[string]bool // by interface and property
	top      string
	typ      string
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// readBindings reads the files of one directory.
func readBindings(dir string) (*bindings, error) {
	b := &bindings{structs: map[string][]entry{}, classes: map[string]*class{}, required: map[string]map[string]bool{}}
	var scripts []string
	for _, pattern := range []string{"index.js", "index-structs/*.js"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, found...)
	}
	for _, script := range scripts {
		if err := b.readScript(script); err != nil {
			return nil, err
		}
		if err := b.readInterfaces(strings.TrimSuffix(script, ".js") + ".d.ts"); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *bindings) readInterfaces(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	current := ""
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		line := lines.Text()
		if m := tsInterface.FindStringSubmatch(line); m != nil {
			current = m[1]
			b.required[current] = map[string]bool{}
		} else if line == "}" {
			current = ""
		} else if m := tsProperty.FindStringSubmatch(line); m != nil && current != "" {
			b.required[current][m[1]] = m[2] == ""
		}
	}
	return nil
}

func (b *bindings) readScript(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var (
		c       *class
		in      string // the structure or class whose table is read
		current *entry
		getter  string // the attribute whose getter is read
	)
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		line := lines.Text()
		if m := jsFunction.FindStringSubmatch(line); m != nil {
			in = m[1]
			b.structs[in] = nil
			continue
		}
		if m := jsClass.FindStringSubmatch(line); m != nil {
			c = &class{kind: m[2], computed: map[string]bool{}, values: map[string]string{}, references: map[string]reference{}}
			b.classes[m[1]] = c
			if m[2] != "ComplexObject" && m[2] != "ComplexList" && m[2] != "ComplexMap" {
				b.top = m[1]
			}
			continue
		}
		if m := jsType.FindStringSubmatch(line); m != nil {
			b.typ = m[1]
		}
		if c != nil {
			if m := jsComment.FindStringSubmatch(line); m != nil {
				c.computed[m[1]] = m[2] == "true"
				getter = ""
				if m[2] == "true" && m[3] == "false" && m[4] == "false" {
					getter = m[1]
					c.values[getter] = ""
				}
			}
			if m := jsReference.FindStringSubmatch(line); m != nil {
				c.references[m[3]] = reference{class: m[1], many: m[2] != "OutputReference", set: m[4] == "true"}
				switch {
				case m[2] == "Map" || m[2] == "MapList":
					c.values[m[3]] = "map:" + m[1]
				case getter == m[3]:
					c.values[getter] = "reference" // the comment stands where the reference is made
				}
				if getter == m[3] {
					getter = ""
				}
			}
			if getter != "" && strings.HasPrefix(strings.TrimSpace(line), "return ") {
				if c.values[getter] == "" {
					c.values[getter] = line
				}
				getter = ""
			}
			if strings.HasPrefix(line, "    synthesizeHclAttributes() {") {
				in = "."
			}
		}
		if in == "" {
			continue
		}
		if m := jsEntry.FindStringSubmatch(line); m != nil {
			current = &entry{name: m[1]}
			continue
		}
		text := strings.TrimSpace(line)
		if current != nil {
			switch key, value, _ := strings.Cut(strings.TrimSuffix(text, ","), ": "); key {
			case "value":
				if m := jsProperty.FindStringSubmatch(value); m != nil {
					current.property = m[1]
				}
				for _, m := range jsNested.FindAllStringSubmatch(value, -1) {
					current.nested = m[1]
				}
			case "isBlock":
				current.block = value == "true"
			case "type":
				current.kind = strings.Trim(value, `"`)
			case "storageClassType":
				current.storage = strings.Trim(value, `"`)
			}
			if text == "}," || text == "}" {
				if in == "." {
					c.entries = append(c.entries, *current)
				} else {
					b.structs[in] = append(b.structs[in], *current)
				}
				current = nil
			}
			continue
		}
		if line == "}" || (in == "." && line == "    }") {
			in = ""
		}
	}
	return nil
}

var storages = map[string]any{
	"string": "string", "boolean": "bool", "number": "number", "any": "dynamic",
	"stringList": []any{"list", "string"}, "numberList": []any{"list", "number"}, "booleanList": []any{"list", "bool"},
	"stringMap": []any{"map", "string"}, "numberMap": []any{"map", "number"}, "booleanMap": []any{"map", "bool"}, "anyMap": []any{"map", "string"},
	"stringListList": []any{"list", []any{"list", "string"}}, "stringListMap": []any{"map", []any{"list", "string"}},
}

// block makes a block of a table. name is that of the interface, className that of the class with the getters.
func (b *bindings) block(entries []entry, name, className string, inSet bool, depth int) *block {
	out := &block{Attributes: map[string]*attribute{}, Blocks: map[string]*nested{}}
	c := b.classes[className]
	if c == nil {
		c = &class{}
	}
	for _, e := range entries {
		required := b.required[name][e.property]
		computed, known := c.computed[e.name]
		if !known {
			computed = !required
		}
		inner, isStruct := b.structs[e.nested]
		if isStruct && depth < 12 {
			ref := c.references[e.name]
			nb := &nested{Nesting: e.kind, Block: b.block(inner, upperFirst(e.nested), upperFirst(e.nested)+"OutputReference", inSet || e.kind == "set", depth+1)}
			switch {
			case e.kind == "struct" || e.name == "timeouts":
				nb.Nesting = "single"
			case ref.class != "" && !ref.many:
				nb.Max = 1
			}
			if !e.block || (known && computed) { // an attribute that is written as a block
				t := objectType(nb.Block)
				if e.kind == "list" || e.kind == "set" || e.kind == "map" {
					t = []any{e.kind, t}
				}
				out.Attributes[e.name] = &attribute{Type: t, Required: required, Optional: !required, Computed: computed}
				continue
			}
			if required && nb.Nesting != "single" {
				nb.Min = 1
			}
			out.Blocks[e.name] = nb
			continue
		}
		t, ok := storages[e.storage]
		if !ok || (inSet && t == "dynamic") {
			t = "string"
		}
		if l, ok := t.([]any); ok && l[0] == "list" && e.kind == "set" {
			t = []any{"set", l[1]}
		}
		out.Attributes[e.name] = &attribute{Type: t, Required: required, Optional: !required, Computed: computed}
	}
	for name, value := range c.values {
		if out.Attributes[name] != nil || out.Blocks[name] != nil {
			continue
		}
		out.Attributes[name] = &attribute{Type: b.computedType(c, name, value, depth), Computed: true}
	}
	return out
}

// computedType is the type of an attribute that can only be read, by its getter.
func (b *bindings) computedType(c *class, name, value string, depth int) any {
	if scalar, ok := strings.CutPrefix(value, "map:cdkt"); ok {
		switch {
		case strings.HasSuffix(scalar, "Boolean"):
			return []any{"map", "bool"}
		case strings.HasSuffix(scalar, "Number"):
			return []any{"map", "number"}
		}
		return []any{"map", "string"}
	}
	for _, getter := range []struct {
		call string
		typ  any
	}{
		{"getStringAttribute", "string"}, {"getNumberAttribute", "number"}, {"getBooleanAttribute", "bool"}, {"getListAttribute", []any{"list", "string"}},
		{"getNumberListAttribute", []any{"list", "number"}}, {"getStringMapAttribute", []any{"map", "string"}},
	} {
		if strings.Contains(value, getter.call) {
			if l, ok := getter.typ.([]any); ok && l[0] == "list" && strings.Contains(value, "tolist(") {
				return []any{"set", l[1]}
			}
			return getter.typ
		}
	}
	if ref, ok := c.references[name]; ok && depth < 12 && !strings.HasPrefix(ref.class, "cdkt") {
		t := objectType(b.block(b.structs[lowerFirst(ref.class)], ref.class, ref.class+"OutputReference", true, depth+1))
		if !ref.many {
			return t
		}
		if ref.set {
			return []any{"set", t}
		}
		return []any{"list", t}
	}
	return []any{"map", "string"}
}

// objectType is a block as the type of an attribute.
func objectType(b *block) any {
	m := map[string]any{}
	for name, a := range b.Attributes {
		m[name] = a.Type
		if a.Type == "dynamic" {
			m[name] = "string"
		}
	}
	for name, n := range b.Blocks {
		t := objectType(n.Block)
		if n.Nesting != "single" {
			t = []any{n.Nesting, t}
		}
		m[name] = t
	}
	return []any{"object", m}
}

// deriveCDKTF reads the directory lib of an unpacked package of cdktf or cdktn bindings.
func deriveCDKTF(lib string) (document, error) {
	doc := document{Resources: map[string]*schema{}, Data: map[string]*schema{}}
	dirs, err := filepath.Glob(filepath.Join(lib, "*", "index.js"))
	if err != nil {
		return doc, err
	}
	slices.Sort(dirs)
	for _, file := range dirs {
		b, err := readBindings(filepath.Dir(file))
		if err != nil {
			return doc, err
		}
		if b.top == "" || b.typ == "" {
			continue
		}
		s := &schema{Block: b.block(b.classes[b.top].entries, b.top+"Config", b.top, false, 0)}
		switch kind := b.classes[b.top].kind; kind {
		case "TerraformResource":
			doc.Resources[b.typ] = s
		case "TerraformDataSource":
			doc.Data[b.typ] = s
		case "TerraformProvider":
			delete(s.Block.Attributes, "alias") // a meta argument
			for _, a := range s.Block.Attributes {
				a.Computed = false
			}
			doc.Provider = s
		}
	}
	if doc.Provider == nil {
		return doc, fmt.Errorf("%s holds no bindings of a provider", lib)
	}
	return doc, nil
}
