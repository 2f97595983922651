package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep lists and objects may nest in a value. The runtimes have
// no such bound; real modules stay below ten, and a bound keeps a hostile
// module from growing our stack.
const MaxDepth = 200

// ParseJSON reads one JSON value into plain Go values: nil, bool, string,
// json.Number, []any and map[string]any. Numbers keep their text, because
// whether they are whole is a rule of the contract. What JSON leaves open is
// refused, because the readers of the value would differ: a name used twice in
// an object, and text that is not UTF-8. The violation, nil when there is
// none, is at path or below.
func ParseJSON(path string, raw []byte) (any, *Violation) {
	p := jsonParser{dec: jsontext.NewDecoder(bytes.NewBuffer(raw))}
	value, err := p.value(0)
	if err == nil {
		if _, err = p.dec.ReadToken(); errors.Is(err, io.EOF) {
			return value, nil
		}
		if err == nil {
			err = errors.New("something follows the value")
		}
	}
	v := jsonViolation(path, err)
	return nil, &v
}

var errTooDeep = fmt.Errorf("it nests deeper than %d levels", MaxDepth)

func jsonViolation(path string, err error) Violation {
	v := Violation{Path: path, Rule: RuleJSON, Reason: ReasonInvalid}
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, errTooDeep):
		v.Rule = RuleDepth
		v.Message = fmt.Sprintf("nests deeper than %d levels; flatten the value", MaxDepth)
	case errors.Is(err, jsontext.ErrDuplicateName):
		v.Rule = RuleDuplicate
		v.Message = "is set twice in the same object; remove one of them"
	case errors.As(err, &syntax):
		// The text of the error may quote the value, so only the place is told.
		v.Message = fmt.Sprintf("is not valid JSON in UTF-8: the mistake is at byte %d", syntax.ByteOffset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		v.Message = "is not valid JSON: it ends too early"
	default:
		v.Message = "is not valid JSON: " + err.Error()
	}
	if errors.As(err, &syntax) {
		for token := range syntax.JSONPointer.Tokens() {
			v.Path = pointerChild(v.Path, token)
		}
	}
	return v
}

// pointerChild appends one token of a JSON pointer, which does not tell an item
// from an attribute: a number is most likely an item.
func pointerChild(path, token string) string {
	if _, err := strconv.ParseUint(token, 10, 31); err == nil {
		return path + "[" + token + "]"
	}
	return child(path, token)
}

type jsonParser struct {
	dec *jsontext.Decoder
}

func (p jsonParser) value(depth int) (any, error) {
	token, err := p.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case jsontext.KindNull:
		return nil, nil
	case jsontext.KindTrue, jsontext.KindFalse:
		return token.Bool(), nil
	case jsontext.KindString:
		return token.String(), nil
	case jsontext.KindNumber:
		return json.Number(token.String()), nil
	case jsontext.KindBeginArray:
		return p.array(depth + 1)
	default:
		return p.object(depth + 1)
	}
}

func (p jsonParser) array(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, errTooDeep
	}
	items := []any{}
	for p.dec.PeekKind() != jsontext.KindEndArray {
		item, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := p.dec.ReadToken()
	return items, err
}

func (p jsonParser) object(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, errTooDeep
	}
	members := map[string]any{}
	for p.dec.PeekKind() != jsontext.KindEndObject {
		name, err := p.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if members[key], err = p.value(depth); err != nil {
			return nil, err
		}
	}
	_, err := p.dec.ReadToken()
	return members, err
}

// CanonicalJSON returns the one text of a value made of what ParseJSON yields:
// UTF-8, keys sorted by code point, no white space, strings with as few
// escapes as RFC 8785 asks for (no HTML escaping), list order kept, whole
// numbers in the shortest decimal form (B-346). A number that is not whole and
// text that is not UTF-8 have no canonical form; the violation, nil when there
// is none, is at path or below and never shows the value.
func CanonicalJSON(path string, value any) ([]byte, *Violation) {
	w := canonicalWriter{}
	w.value(&place{key: path}, value)
	if w.broken != nil {
		return nil, w.broken
	}
	return w.out, nil
}

// canonicalWriter keeps the first violation and writes on, since what it wrote
// is dropped then.
type canonicalWriter struct {
	out    []byte
	broken *Violation
}

func (w *canonicalWriter) refuse(at *place, rule, message string) {
	if w.broken == nil {
		w.broken = &Violation{Path: at.String(), Rule: rule, Reason: ReasonInvalid, Message: message}
	}
}

func (w *canonicalWriter) value(at *place, value any) {
	switch v := value.(type) {
	case nil:
		w.out = append(w.out, "null"...)
	case bool:
		w.out = strconv.AppendBool(w.out, v)
	case string:
		w.text(at, v)
	case json.Number:
		text, ok := wholeNumber(v)
		if !ok {
			w.refuse(at, RuleInteger, notWhole)
		}
		w.out = append(w.out, text...)
	case []any:
		w.list(at, v)
	case map[string]any:
		w.object(at, v)
	default:
		w.refuse(at, RuleType, fmt.Sprintf("is a Go value of type %T, which is no JSON", value))
	}
}

// notWhole is said of numbers that cannot be hashed (B-348).
const notWhole = "is a number with a fraction or an exponent; emit it as a string, or round it"

func (w *canonicalWriter) text(at *place, text string) {
	var err error
	if w.out, err = jsontext.AppendQuote(w.out, text); err != nil {
		w.refuse(at, RuleUTF8, "is not UTF-8; use text, or encode bytes as base64")
	}
}

func (w *canonicalWriter) list(at *place, items []any) {
	w.out = append(w.out, '[')
	for i, item := range items {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.value(at.item(i), item)
	}
	w.out = append(w.out, ']')
}

func (w *canonicalWriter) object(at *place, members map[string]any) {
	w.out = append(w.out, '{')
	// The byte order of UTF-8 is the order of code points.
	for i, key := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.text(at, key)
		w.out = append(w.out, ':')
		w.value(at.member(key), members[key])
	}
	w.out = append(w.out, '}')
}

// wholeNumber returns the shortest decimal text of a number, false when it is
// written with a fraction or an exponent. JSON allows neither leading zeros nor
// a plus sign, so only the negative zero differs from its own text.
func wholeNumber(n json.Number) (string, bool) {
	text := string(n)
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	if digits == "0" {
		return "0", true
	}
	return text, digits[0] != '0'
}
