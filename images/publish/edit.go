package publish

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// edit sets the value at a path of object members (strings) and list items
// (numbers) in a JSON document. Members that are missing are added. Everything
// else stays as it is, byte for byte, so that what this program does not know is
// not lost.
func edit(raw []byte, value any, path ...any) ([]byte, error) {
	if v := jsontext.Value(raw); !v.IsValid() {
		return nil, errors.New("it is not valid JSON, or has a member twice")
	}
	text, err := encode(value)
	if err != nil {
		return nil, err
	}
	return splice(raw, text, path)
}

// encode writes JSON without escaping HTML.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func splice(raw, text []byte, path []any) ([]byte, error) {
	if len(path) == 0 {
		return text, nil
	}
	name, isMember := path[0].(string)
	index, _ := path[0].(int)
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	begin, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	if kind := begin.Kind(); isMember && kind != '{' || !isMember && kind != '[' {
		return nil, fmt.Errorf("%v: there is a %s instead", path[0], kind)
	}
	last := int(d.InputOffset())
	members := 0
	for ; d.PeekKind() != '}' && d.PeekKind() != ']'; members++ {
		here := !isMember && members == index
		if isMember {
			token, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			here = token.String() == name
		}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		last = int(d.InputOffset())
		if !here {
			continue
		}
		start := last - len(value)
		if len(path) > 1 && value.Kind() == 'n' {
			value = []byte("{}")
		}
		inner, err := splice(value, text, path[1:])
		if err != nil {
			return nil, fmt.Errorf("%v: %w", path[0], err)
		}
		return slices.Concat(raw[:start], inner, raw[last:]), nil
	}
	if !isMember {
		return nil, fmt.Errorf("item %d: there are only %d", index, members)
	}
	inner, err := splice([]byte("{}"), text, path[1:])
	if err != nil {
		return nil, err
	}
	key, err := encode(name)
	if err != nil {
		return nil, err
	}
	added := slices.Concat(key, []byte(":"), inner)
	if members > 0 {
		added = append([]byte(","), added...)
	}
	return slices.Concat(raw[:last], added, raw[last:]), nil
}
