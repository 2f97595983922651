package balancer

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// at returns everything at a path inside attribute values: through every
// element of the lists on its way. Null is left out.
func at(values any, path string) []any {
	if path == "" {
		return nil
	}
	found := []any{values}
	for step := range strings.SplitSeq(path, ".") {
		var next []any
		for _, v := range spread(found) {
			if m, ok := v.(map[string]any); ok && m[step] != nil {
				next = append(next, m[step])
			}
		}
		found = next
	}
	return spread(found)
}

// spread replaces lists by their elements.
func spread(values []any) []any {
	var out []any
	for _, v := range values {
		switch v := v.(type) {
		case nil:
		case []any:
			out = append(out, spread(v)...)
		default:
			out = append(out, v)
		}
	}
	return out
}

// text returns a scalar as text, "" for anything else.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case int:
		return strconv.Itoa(v)
	}
	return ""
}

// textAt returns the first text at a path, "" when there is none.
func textAt(values any, path string) string {
	for _, v := range at(values, path) {
		if s := text(v); s != "" {
			return s
		}
	}
	return ""
}

// intAt returns the first whole number at a path; ok is false when there is none.
func intAt(values any, path string) (int, bool) {
	for _, v := range at(values, path) {
		if n, err := strconv.Atoi(text(v)); err == nil {
			return n, true
		}
	}
	return 0, false
}

// span of ports, both included.
type portRange struct{ from, to int }

func (r portRange) holds(port int) bool { return r.from <= port && port <= r.to }

// everyPort is the range of a rule that names no port.
var everyPort = portRange{0, 65535}

// portRanges reads a port, a range such as 2379-2380, or a word for all ports.
func portRanges(s string) (portRange, bool) {
	s = strings.TrimSpace(s)
	switch strings.ToLower(s) {
	case "*", "all", "any", "-1":
		return everyPort, true
	}
	low, high, isRange := strings.Cut(s, "-")
	from, err := strconv.Atoi(strings.TrimSpace(low))
	if err != nil {
		return portRange{}, false
	}
	if !isRange {
		return portRange{from, from}, true
	}
	to, err := strconv.Atoi(strings.TrimSpace(high))
	return portRange{from, to}, err == nil
}

// portsAt returns the ports at the paths. A range of more than one port is that
// of a frontend which passes ports on, and counts as its ends.
func portsAt(values any, paths []string) []int {
	var out []int
	for _, path := range paths {
		for _, v := range at(values, path) {
			if r, ok := portRanges(text(v)); ok && r != everyPort && r.from > 0 {
				out = append(out, r.from, r.to)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// scalars calls visit for every scalar inside a value.
func scalars(v any, visit func(text string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			scalars(v[k], visit)
		}
	case []any:
		for _, e := range v {
			scalars(e, visit)
		}
	default:
		if s := text(v); s != "" {
			visit(s)
		}
	}
}

// Baseless returns a resource address without the instance key at its end.
func Baseless(address string) string {
	if strings.HasSuffix(address, "]") {
		if n := strings.LastIndex(address, "["); n > 0 {
			return address[:n]
		}
	}
	return address
}
