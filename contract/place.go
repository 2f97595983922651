package contract

import (
	"cmp"
	"strconv"
	"strings"
)

// place is where in a value a walk is. It is turned into a path only when
// there is something to say, which is rare, so that walking a large value
// allocates nothing.
type place struct {
	// up is the place of the list or object around; nil at the root.
	up *place
	// key is the attribute's name if named; at the root it is the path of the value.
	key   string
	named bool
	// index is the item's number if not named.
	index int
}

func (p *place) member(key string) *place { return &place{up: p, key: key, named: true} }

func (p *place) item(i int) *place { return &place{up: p, index: i} }

// String returns the path: outputs.failure_domains[1].name.
func (p *place) String() string {
	switch {
	case p.up == nil:
		return p.key
	case p.named:
		return child(p.up.String(), p.key)
	default:
		return p.up.String() + "[" + strconv.Itoa(p.index) + "]"
	}
}

// child returns the path of an attribute below path: path.name, or
// path["captf.io/name"] for what is no identifier.
func child(path, name string) string {
	if !identifier(name) {
		return path + "[" + quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// identifier tells that s needs no quotes in a path. Long names are quoted, so
// that they are cut.
func identifier(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		digit := '0' <= r && r <= '9' || r == '-'
		if !letter && (i == 0 || !digit) {
			return false
		}
	}
	return true
}

// quote returns text in quotes for a message, cut when it is long.
func quote(s string) string {
	const longest = 64
	if runes := []rune(s); len(runes) > longest {
		s = string(runes[:longest]) + "…"
	}
	return strconv.Quote(s)
}

// comparePaths orders paths for people: numbers by their value, so that item 2
// comes before item 10.
func comparePaths(a, b string) int {
	for a != "" && b != "" {
		digitsA, digitsB := leadingDigits(a), leadingDigits(b)
		if digitsA == "" || digitsB == "" {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		if digitsA != digitsB {
			return cmp.Or(cmp.Compare(len(digitsA), len(digitsB)), cmp.Compare(digitsA, digitsB))
		}
		a, b = a[len(digitsA):], b[len(digitsB):]
	}
	return cmp.Compare(len(a), len(b))
}

func leadingDigits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}
