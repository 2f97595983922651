package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agext/levenshtein"
	"go.yaml.in/yaml/v3"
)

// Error is one mistake in a scenario file.
type Error struct {
	// File is the name of the file, Line and Column the place, counted from 1; 0
	// when the mistake has none.
	File         string
	Line, Column int
	// Message says what is wrong, and what to do.
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// source is a file that was decoded, with the places of its values by path.
type source struct {
	name   string
	file   File
	places map[string]place
	errs   []error
}

type place struct{ line, column int }

// fail notes a mistake at a path such as steps[2].ask.workers, or at the nearest
// value around it that has a place.
func (s *source) fail(path, format string, args ...any) {
	for at := path; ; at = parent(at) {
		if p, ok := s.places[at]; ok {
			s.failAt(p, format, args...)
			return
		}
		if at == "" {
			s.failAt(place{}, format, args...)
			return
		}
	}
}

func (s *source) failAt(p place, format string, args ...any) {
	s.errs = append(s.errs, &Error{File: s.name, Line: p.line, Column: p.column, Message: fmt.Sprintf(format, args...)})
}

// parent cuts the last part of a path.
func parent(path string) string {
	n := strings.LastIndexAny(path, ".[")
	return path[:max(n, 0)]
}

// err returns what is wrong; nil when nothing is. Only the first mistakes are told.
func (s *source) err() error {
	if len(s.errs) <= maxErrors {
		return errors.Join(s.errs...)
	}
	more := &Error{File: s.name, Message: fmt.Sprintf("%d more mistakes", len(s.errs)-maxErrors)}
	return errors.Join(append(s.errs[:maxErrors:maxErrors], more)...)
}

// decode reads a file strictly. The result is usable when its err is nil.
func decode(name string, text []byte) *source {
	s := &source{name: name, places: map[string]place{}}
	switch {
	case len(text) > MaxBytes:
		s.failAt(place{}, "it has more than the %d bytes that a scenario may have", MaxBytes)
		return s
	case !utf8.Valid(text):
		s.failAt(place{}, "it is not UTF-8 text")
		return s
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty; a scenario has at least id, title and steps")
		}
		s.yamlError(err)
		return s
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		s.failAt(place{max(more.Line, 1), max(more.Column, 1)}, "there is a second document; a file holds one scenario")
		return s
	}
	root := doc.Content[0]
	s.walk("", root, reflect.TypeFor[File](), constraint{}, 0)
	if len(s.errs) > 0 {
		return s
	}
	if err := root.Decode(&s.file); err != nil {
		s.yamlError(err)
	}
	return s
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s+)?line (\d+): (.*)$`)

// yamlError notes an error of the YAML parser, which knows lines only.
func (s *source) yamlError(err error) {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1])
		s.failAt(place{line, 1}, "%s", m[2])
		return
	}
	s.failAt(place{}, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
}

// constraint is what the tags of a field say about its value.
type constraint struct {
	enum     []string
	min, max *int
	pattern  *regexp.Regexp
	length   int
	required bool
}

// constraintOf reads the tags of a field.
func constraintOf(f reflect.StructField) constraint {
	c := constraint{required: f.Tag.Get("scenario") == "required"}
	for part := range strings.SplitSeq(strings.ReplaceAll(f.Tag.Get("jsonschema"), `\,`, "\x00"), ",") {
		key, value, _ := strings.Cut(part, "=")
		value = strings.ReplaceAll(value, "\x00", ",")
		n, _ := strconv.Atoi(value)
		switch key {
		case "enum":
			c.enum = append(c.enum, value)
		case "minimum":
			c.min = &n
		case "maximum":
			c.max = &n
		case "maxLength":
			c.length = n
		case "pattern":
			c.pattern = regexp.MustCompile(value)
		}
	}
	return c
}

// key returns the name of a field in a file.
func key(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// walk checks a value against a type and notes its place.
func (s *source) walk(path string, n *yaml.Node, t reflect.Type, c constraint, depth int) {
	s.places[path] = place{n.Line, n.Column}
	switch {
	case depth > maxDepth:
		s.fail(path, "it is nested more than %d levels deep", maxDepth)
		return
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		s.fail(path, "anchors and aliases are not used in scenarios; write the value out, or use include")
		return
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		s.walkStruct(path, n, t, depth)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			s.fail(path, "%s must be a list, and is %s", nameOf(path), kindOf(n))
			return
		}
		for i, item := range n.Content {
			if len(s.errs) > maxErrors {
				return
			}
			s.walk(fmt.Sprintf("%s[%d]", path, i), item, t.Elem(), constraint{enum: c.enum, pattern: c.pattern}, depth+1)
		}
	case reflect.Map:
		s.walkMap(path, n, depth)
	default:
		s.walkScalar(path, n, t, c)
	}
}

func (s *source) walkStruct(path string, n *yaml.Node, t reflect.Type, depth int) {
	if n.Kind != yaml.MappingNode {
		s.fail(path, "%s must be an object with keys such as %s, and is %s", nameOf(path), key(t.Field(0)), kindOf(n))
		return
	}
	fields := map[string]reflect.StructField{}
	var names []string
	for f := range t.Fields() {
		fields[key(f)] = f
		names = append(names, key(f))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content) && len(s.errs) <= maxErrors; i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		f, known := fields[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode || k.Tag == "!!merge":
			s.failAt(place{k.Line, k.Column}, "a key of %s must be a word", nameOf(path))
		case !known:
			s.failAt(place{k.Line, k.Column}, "%s has no key %q%s", nameOf(path), k.Value, meant(k.Value, names))
		case seen[k.Value]:
			s.failAt(place{k.Line, k.Column}, "the key %q stands twice in %s", k.Value, nameOf(path))
		case v.Tag == "!!null":
			s.failAt(place{v.Line, v.Column}, "the key %q has no value; leave it out", k.Value)
		default:
			s.walk(join(path, k.Value), v, f.Type, constraintOf(f), depth+1)
		}
		seen[k.Value] = true
	}
	for _, name := range names {
		if constraintOf(fields[name]).required && !seen[name] {
			s.fail(path, "%s lacks the key %q", nameOf(path), name)
		}
	}
}

func (s *source) walkMap(path string, n *yaml.Node, depth int) {
	if n.Kind != yaml.MappingNode {
		s.fail(path, "%s must be an object, and is %s", nameOf(path), kindOf(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			s.failAt(place{k.Line, k.Column}, "a key of %s must be a word", nameOf(path))
			continue
		}
		if seen[k.Value] {
			s.failAt(place{k.Line, k.Column}, "the key %q stands twice in %s", k.Value, nameOf(path))
		}
		seen[k.Value] = true
		s.walk(join(path, k.Value), v, reflect.TypeFor[string](), constraint{}, depth+1)
	}
}

func (s *source) walkScalar(path string, n *yaml.Node, t reflect.Type, c constraint) {
	want, words := map[reflect.Kind]string{reflect.String: "!!str", reflect.Int: "!!int", reflect.Bool: "!!bool"}[t.Kind()],
		map[reflect.Kind]string{reflect.String: "a text", reflect.Int: "a whole number", reflect.Bool: "true or false"}[t.Kind()]
	// A number where a name is wanted, such as machine: 2, is read as it is written.
	if n.Kind != yaml.ScalarNode || n.Tag != want && !(want == "!!str" && n.Tag == "!!int") {
		s.fail(path, "%s must be %s, and is %s", nameOf(path), words, kindOf(n))
		return
	}
	if want == "!!bool" && (len(c.enum) > 0 && !slices.Contains(c.enum, n.Value)) {
		s.fail(path, "%s can only be %s; leave it out otherwise", nameOf(path), c.enum[0])
		return
	}
	if want == "!!int" {
		v, err := strconv.Atoi(n.Value)
		switch {
		case err != nil:
			s.fail(path, "%s must be a whole number in decimal, and is %s", nameOf(path), n.Value)
		case c.min != nil && v < *c.min, c.max != nil && v > *c.max:
			s.fail(path, "%s is %d, and must be from %d to %d", nameOf(path), v, *c.min, *c.max)
		}
		return
	}
	switch {
	case len(c.enum) > 0 && !slices.Contains(c.enum, n.Value):
		s.fail(path, "%s is %q, and must be one of %s%s", nameOf(path), n.Value, strings.Join(c.enum, ", "), meant(n.Value, c.enum))
	case c.length > 0 && utf8.RuneCountInString(n.Value) > c.length:
		s.fail(path, "%s has more than %d characters", nameOf(path), c.length)
	case c.pattern != nil && !c.pattern.MatchString(n.Value):
		s.fail(path, "%s is %q, and must match %s", nameOf(path), n.Value, c.pattern)
	case want == "!!str" && n.Value == "":
		s.fail(path, "%s is empty; leave it out", nameOf(path))
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// nameOf is how a message calls a value.
func nameOf(path string) string {
	if path == "" {
		return "the scenario"
	}
	return path
}

func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "an object"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "empty"
	}
	return fmt.Sprintf("%q", n.Value)
}

// meant suggests the word that is nearest to a wrong one; "" when none is near.
func meant(wrong string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	distance := func(w string) int {
		return levenshtein.Distance(strings.ToLower(wrong), strings.ToLower(w), nil)
	}
	best := slices.MinFunc(words, func(a, b string) int { return distance(a) - distance(b) })
	if d := distance(best); d > max(2, len(best)/3) {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
