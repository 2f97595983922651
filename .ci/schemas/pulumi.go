package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Pulumi's bindings of a Terraform provider hold its schema in other clothes: names in camel case, nested blocks of at
// most one element as plain objects, lists of blocks in the plural, and filters of data sources as filters. What
// TypeScript does not tell is whether a collection is a list or a set.

var (
	resourceToken = regexp.MustCompile(`__pulumiType = '\w+:(\w+)/(\w+):\w+'`)
	invokeToken   = regexp.MustCompile(`invoke\("\w+:(\w+)/get(\w+):\w+"`)
	upperLetter   = regexp.MustCompile(`[A-Z]`)
	namespaceLine = regexp.MustCompile(`^(?:export (?:declare )?)?namespace (\w+) \{`)
	interfaceLine = regexp.MustCompile(`^(?:export )?interface (\w+) \{`)
	fieldLine     = regexp.MustCompile(`^(?:readonly )?(\w+)(\??): (.*)$`)
)

// field is one property of an interface or class.
type field struct {
	name     string
	optional bool
	typ      string
	doc      string
}

// snake is a name as Terraform has it.
func snake(name string) string {
	return strings.TrimPrefix(upperLetter.ReplaceAllStringFunc(name, func(s string) string { return "_" + strings.ToLower(s) }), "_")
}

// singular are properties that Pulumi has in the plural and Terraform has not, by the name in Terraform.
var singular = map[string]string{"filters": "filter", "plugins_configs": "plugins_config"}

// sets are collections that are sets in Terraform, by their name in it.
var sets = map[string]bool{"nsg_ids": true, "filter": true}

// declarations reads the interfaces and classes of a declaration file, by name, with the namespace before a dot.
func declarations(file string) (map[string][]field, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := map[string][]field{}
	space, current := "", ""
	var doc strings.Builder
	inDoc := false
	lines := strings.Split(string(raw), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		switch {
		case strings.HasPrefix(line, "/**"):
			doc.Reset()
			doc.WriteString(line)
			inDoc = !strings.HasSuffix(line, "*/")
			continue
		case inDoc:
			doc.WriteString(line)
			inDoc = !strings.HasSuffix(line, "*/")
			continue
		}
		if m := namespaceLine.FindStringSubmatch(line); m != nil {
			space = m[1] + "."
			continue
		}
		name := ""
		if m := interfaceLine.FindStringSubmatch(line); m != nil {
			name = m[1]
		} else if class, ok := strings.CutPrefix(line, "export declare class "); ok {
			name, _, _ = strings.Cut(class, " ")
		}
		switch {
		case name != "":
			current = space + name
			out[current] = []field{}
		case line == "}" && current != "":
			current = ""
		case line == "}":
			space = ""
		case current != "":
			m := fieldLine.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			typ := m[3]
			for strings.Count(typ, "{") > strings.Count(typ, "}") && i+1 < len(lines) {
				i++
				typ += " " + strings.TrimSpace(lines[i])
			}
			out[current] = append(out[current], field{name: m[1], optional: m[2] != "", typ: strings.TrimSuffix(typ, ";"), doc: doc.String()})
			doc.Reset()
		}
	}
	return out, nil
}

// bare removes what TypeScript wraps around a type, and tells whether it may be undefined.
func bare(typ string) (string, bool) {
	undefined := strings.Contains(typ, "| undefined")
	typ = strings.ReplaceAll(typ, "| undefined", "")
	for _, wrapper := range []string{"pulumi.Input<", "pulumi.Output<"} {
		typ = strings.ReplaceAll(typ, wrapper, "")
	}
	return strings.ReplaceAll(strings.NewReplacer(">", "", " ", "", ";", "").Replace(typ), "inputs.", "@in."), undefined
}

type pulumi struct {
	in, out map[string][]field
}

// shape tells what a TypeScript type is: scalar and collections of them as a type, or the name of an interface.
func shape(typ string) (scalar any, name string, many bool) {
	switch typ {
	case "string":
		return "string", "", false
	case "boolean":
		return "bool", "", false
	case "number":
		return "number", "", false
	case "{[key:string]:string}":
		return []any{"map", "string"}, "", false
	}
	if element, ok := strings.CutSuffix(typ, "[]"); ok {
		scalar, name, _ := shape(element)
		if name != "" {
			return nil, name, true
		}
		return []any{"list", scalar}, "", true
	}
	if strings.Contains(typ, ".") {
		return nil, typ, false
	}
	return "string", "", false
}

func (p pulumi) fields(name string) []field {
	if n, ok := strings.CutPrefix(name, "@in."); ok {
		return p.in[n]
	}
	return p.out[strings.TrimPrefix(name, "outputs.")]
}

// block makes a block of what can be set, args, and of what is known afterwards, state.
func (p pulumi) block(args, state []field, depth int) *block {
	b := &block{Attributes: map[string]*attribute{}, Blocks: map[string]*nested{}}
	after := map[string]field{}
	for _, f := range state {
		after[f.name] = f
	}
	for _, f := range args {
		typ, _ := bare(f.typ)
		scalar, ref, many := shape(typ)
		name := terraformName(f.name)
		forceNew := !strings.Contains(f.doc, "(Updatable)")
		if ref != "" && depth < 8 {
			var seen []field
			if o, ok := after[f.name]; ok {
				otyp, _ := bare(o.typ)
				_, oref, _ := shape(otyp)
				seen = p.fields(oref)
			}
			n := &nested{Nesting: "list", Block: p.block(p.fields(ref), seen, depth+1), forceNew: forceNew}
			if sets[name] {
				n.Nesting = "set"
			}
			if !many {
				n.Max = 1
			}
			if !f.optional {
				n.Min = 1
			}
			b.Blocks[name] = n
			continue
		}
		// What the state always has, although it need not be set, the cloud decides.
		o, ok := after[f.name]
		_, undefined := bare(o.typ)
		computed := ok && f.optional && !undefined && !o.optional
		b.Attributes[name] = &attribute{Type: collection(name, scalar), Required: !f.optional, Optional: f.optional, Computed: computed, forceNew: forceNew}
	}
	for _, f := range state {
		name := terraformName(f.name)
		if b.Attributes[name] != nil || b.Blocks[name] != nil || strings.Contains(f.typ, "=>") || strings.HasPrefix(f.name, "__") {
			continue
		}
		typ, _ := bare(f.typ)
		b.Attributes[name] = &attribute{Type: p.value(typ, 0), Computed: true}
	}
	return b
}

// value is the type of something that is only computed.
func (p pulumi) value(typ string, depth int) any {
	scalar, ref, _ := shape(typ)
	if ref == "" {
		return scalar
	}
	attributes := map[string]any{}
	for _, f := range p.fields(ref) {
		inner, _ := bare(f.typ)
		if depth < 8 {
			attributes[terraformName(f.name)] = p.value(inner, depth+1)
		}
	}
	return []any{"list", []any{"object", attributes}}
}

func terraformName(name string) string {
	n := snake(name)
	if s, ok := singular[n]; ok {
		return s
	}
	if strings.HasSuffix(n, "_collections") {
		return strings.TrimSuffix(n, "s")
	}
	return n
}

func collection(name string, typ any) any {
	if l, ok := typ.([]any); ok && l[0] == "list" && sets[name] {
		return []any{"set", l[1]}
	}
	return typ
}

// derivePulumi reads an unpacked package of Pulumi bindings.
func derivePulumi(dir, source string) (document, error) {
	doc := document{Resources: map[string]*schema{}, Data: map[string]*schema{}}
	prefix := filepath.Base(source) + "_"
	in, err := declarations(filepath.Join(dir, "types", "input.d.ts"))
	if err != nil {
		return doc, err
	}
	out, err := declarations(filepath.Join(dir, "types", "output.d.ts"))
	if err != nil {
		return doc, err
	}
	p := pulumi{in: in, out: out}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.js"))
	if err != nil {
		return doc, err
	}
	slices.Sort(files)
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			return doc, err
		}
		resource, invoke := resourceToken.FindStringSubmatch(string(code)), invokeToken.FindStringSubmatch(string(code))
		if resource == nil && invoke == nil {
			continue
		}
		all, err := declarations(strings.TrimSuffix(file, ".js") + ".d.ts")
		if err != nil {
			return doc, err
		}
		var args, state []field
		for _, name := range slices.Sorted(maps.Keys(all)) {
			switch {
			case strings.HasSuffix(name, "OutputArgs"), strings.HasSuffix(name, "State"):
			case strings.HasSuffix(name, "Args"):
				args = all[name]
			default:
				state = all[name]
			}
		}
		b := p.block(args, state, 0)
		if resource != nil {
			b.Attributes["id"] = &attribute{Type: "string", Optional: true, Computed: true}
			b.Blocks["timeouts"] = &nested{Nesting: "single", Block: &block{Attributes: map[string]*attribute{
				"create": {Type: "string", Optional: true}, "update": {Type: "string", Optional: true}, "delete": {Type: "string", Optional: true},
			}}}
			doc.Resources[prefix+snake(resource[1])+"_"+snake(resource[2])] = &schema{Block: b}
			continue
		}
		if b.Attributes["id"] == nil {
			b.Attributes["id"] = &attribute{Type: "string", Optional: true, Computed: true}
		}
		doc.Data[prefix+snake(invoke[1])+"_"+snake(invoke[2])] = &schema{Block: b}
	}
	provider, err := declarations(filepath.Join(dir, "provider.d.ts"))
	if err != nil {
		return doc, err
	}
	doc.Provider = &schema{Block: p.block(provider["ProviderArgs"], nil, 0)}
	return doc, nil
}

// writeForceNew writes the paths that the documentation does not call updatable, by resource type, as Go.
func writeForceNew(file string, doc document) error {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(doc.Resources)) {
		var paths []string
		var walk func(b *block, prefix string, force bool)
		walk = func(b *block, prefix string, force bool) {
			for a, x := range b.Attributes {
				if (x.Required || x.Optional) && a != "id" && (force || x.forceNew) && a != "async" {
					paths = append(paths, prefix+a)
				}
			}
			for a, x := range b.Blocks {
				if a == "timeouts" {
					continue
				}
				if force || x.forceNew {
					paths = append(paths, prefix+a)
					continue
				}
				walk(x.Block, prefix+a+".", false)
			}
		}
		walk(doc.Resources[name].Block, "", false)
		slices.Sort(paths)
		fmt.Fprintf(&out, "%q: {%s},\n", name, "\""+strings.Join(paths, "\", \"")+"\"")
	}
	return os.WriteFile(file, []byte(out.String()), 0o644) //nolint:gosec // It is part of the sources.
}
