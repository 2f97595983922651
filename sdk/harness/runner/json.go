package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

type jsonKind string

const (
	jsonObject jsonKind = "an object"
	jsonArray  jsonKind = "a list"
	jsonString jsonKind = "a string"
	jsonNumber jsonKind = "a number"
	jsonBool   jsonKind = "a boolean"
	jsonNull   jsonKind = "null"
)

// jsonNode is a JSON value with its place. encoding/json has strict decoding but
// cannot say where something is.
type jsonNode struct {
	kind   jsonKind
	value  string
	keys   []jsonKey
	items  []*jsonNode
	doc    *jsonDoc
	offset int64
}

type jsonKey struct {
	name   string
	offset int64
	node   *jsonNode
}

type jsonDoc struct {
	path string
	raw  []byte
}

// parseJSON reads one JSON document of a small file.
func parseJSON(path string, raw []byte) (*jsonNode, error) {
	doc := &jsonDoc{path: path, raw: raw}
	if !utf8.Valid(raw) {
		return nil, fmt.Errorf("reading %s: it is not UTF-8", path)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	node, err := doc.parse(dec)
	if err != nil {
		return nil, doc.syntax(dec, err)
	}
	end := dec.InputOffset()
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, doc.errorf(doc.skip(end), "there is more after the end of the document")
	}
	return node, nil
}

func (d *jsonDoc) syntax(dec *json.Decoder, err error) error {
	at := dec.InputOffset()
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = max(0, se.Offset-1)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the document ends too early")
	}
	if _, ok := errors.AsType[*locatedError](err); ok {
		return err
	}
	return d.errorf(at, "%w", err)
}

func (d *jsonDoc) parse(dec *json.Decoder) (*jsonNode, error) {
	start := d.skip(dec.InputOffset())
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	n := &jsonNode{doc: d, offset: start}
	switch t := tok.(type) {
	case json.Delim:
		if t == '{' {
			n.kind = jsonObject
			return n, d.parseObject(dec, n)
		}
		n.kind = jsonArray
		for dec.More() {
			item, err := d.parse(dec)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		_, err := dec.Token()
		return n, err
	case string:
		n.kind, n.value = jsonString, t
	case json.Number:
		n.kind, n.value = jsonNumber, t.String()
	case bool:
		n.kind = jsonBool
	case nil:
		n.kind = jsonNull
	}
	return n, nil
}

func (d *jsonDoc) parseObject(dec *json.Decoder, n *jsonNode) error {
	for dec.More() {
		at := d.skip(dec.InputOffset())
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		name, ok := tok.(string)
		if !ok {
			return d.errorf(at, "a key is a string")
		}
		if slices.ContainsFunc(n.keys, func(k jsonKey) bool { return k.name == name }) {
			return d.errorf(at, "the key %q is there twice", name)
		}
		value, err := d.parse(dec)
		if err != nil {
			return err
		}
		n.keys = append(n.keys, jsonKey{name: name, offset: at, node: value})
	}
	_, err := dec.Token()
	return err
}

// skip returns the offset of the next token: the decoder's own is the end of the last one.
func (d *jsonDoc) skip(offset int64) int64 {
	for offset < int64(len(d.raw)) && strings.IndexByte(" \t\r\n,:", d.raw[offset]) >= 0 {
		offset++
	}
	return offset
}

// locatedError is an error that says its place already.
type locatedError struct {
	place string
	err   error
}

func (e *locatedError) Error() string { return e.place + ": " + e.err.Error() }

func (e *locatedError) Unwrap() error { return e.err }

func (d *jsonDoc) place(offset int64) string {
	before := d.raw[:min(offset, int64(len(d.raw)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("%s:%d:%d", d.path, line, column)
}

func (d *jsonDoc) errorf(offset int64, format string, args ...any) error {
	return &locatedError{d.place(offset), fmt.Errorf(format, args...)}
}

func (n *jsonNode) place() string { return n.doc.place(n.offset) }

func (n *jsonNode) errorf(format string, args ...any) error {
	return n.doc.errorf(n.offset, format, args...)
}

func (n *jsonNode) want(kind jsonKind) error {
	if n.kind != kind {
		return n.errorf("%s is expected here, not %s", kind, n.kind)
	}
	return nil
}

// object returns the fields of an object that may have the given keys only.
func (n *jsonNode) object(known ...string) (map[string]*jsonNode, error) {
	if err := n.want(jsonObject); err != nil {
		return nil, err
	}
	fields := make(map[string]*jsonNode, len(n.keys))
	for _, k := range n.keys {
		if !slices.Contains(known, k.name) {
			return nil, n.doc.errorf(k.offset, "unknown key %q; known here: %s", k.name, strings.Join(known, ", "))
		}
		fields[k.name] = k.node
	}
	return fields, nil
}

func (n *jsonNode) array() ([]*jsonNode, error) { return n.items, n.want(jsonArray) }

// text returns a string that is not empty.
func (n *jsonNode) text() (string, error) {
	if err := n.want(jsonString); err != nil {
		return "", err
	}
	if n.value == "" {
		return "", n.errorf("the string is empty")
	}
	return n.value, nil
}

func (n *jsonNode) oneOf(values ...string) (string, error) {
	text, err := n.text()
	if err != nil {
		return "", err
	}
	if !slices.Contains(values, text) {
		return "", n.errorf("%q is not one of %s", text, strings.Join(values, ", "))
	}
	return text, nil
}

// step returns one element of a path: a name, or a list index in decimal.
func (n *jsonNode) step() (string, error) {
	if n.kind == jsonNumber {
		return n.value, nil
	}
	return n.text()
}
