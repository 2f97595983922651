package harness

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// walkJSON calls visit for every value inside a JSON document, with its path.
func walkJSON(doc json.RawMessage, visit func(path []string, value any)) {
	var root any
	if json.Unmarshal(doc, &root) != nil {
		return // decoding has reported it
	}
	var walk func(path []string, v any)
	walk = func(path []string, v any) {
		visit(path, v)
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(append(slices.Clone(path), k), v[k])
			}
		case []any:
			for n, e := range v {
				walk(append(slices.Clone(path), strconv.Itoa(n)), e)
			}
		}
	}
	walk(nil, root)
}

// hasPath tells that a JSON document has a value, null included, at the path.
func hasPath(doc json.RawMessage, path []string) bool {
	found := false
	walkJSON(doc, func(at []string, _ any) { found = found || slices.Equal(at, path) })
	return found
}

// withPath returns the document with a value put at the path; ok is false where
// the path leads through something that is no object.
func withPath(doc json.RawMessage, path []string, value any) (out json.RawMessage, ok bool) {
	root := map[string]any{}
	if len(doc) > 0 {
		dec := json.NewDecoder(bytes.NewReader(doc))
		dec.UseNumber()
		if dec.Decode(&root) != nil || root == nil {
			return nil, false
		}
	}
	at := root
	for n, step := range path {
		if n == len(path)-1 {
			at[step] = value
			break
		}
		next, isObject := at[step].(map[string]any)
		if !isObject {
			if at[step] != nil {
				return nil, false
			}
			next = map[string]any{}
			at[step] = next
		}
		at = next
	}
	out, err := json.Marshal(root)
	return out, err == nil
}

// valueAt returns the value at the path inside attribute values; nil when
// there is none.
func valueAt(values map[string]any, path []string) any {
	var v any = values
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(at) {
				return nil
			}
			v = at[n]
		default:
			return nil
		}
	}
	return v
}

// differingPaths returns the paths at which two JSON documents differ.
func differingPaths(a, b json.RawMessage) []string {
	leaves := func(doc json.RawMessage) map[string]any {
		out := map[string]any{}
		walkJSON(doc, func(path []string, v any) {
			switch v.(type) {
			case map[string]any, []any:
			default:
				out[strings.Join(path, ".")] = v
			}
		})
		return out
	}
	before, after := leaves(a), leaves(b)
	var out []string
	for k, v := range before {
		if w, ok := after[k]; !ok || !reflect.DeepEqual(v, w) {
			out = append(out, k)
		}
	}
	for k := range after {
		if _, ok := before[k]; !ok {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// baseAddress returns a resource address without the instance key at its end.
func baseAddress(address string) string {
	if strings.HasSuffix(address, "]") {
		if n := strings.LastIndex(address, "["); n > 0 {
			return address[:n]
		}
	}
	return address
}
