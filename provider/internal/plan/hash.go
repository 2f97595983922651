package plan

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
)

// HashPrefix names the scheme of the fingerprint.
const HashPrefix = "p2:"

// EmptyHash is the fingerprint of a plan that does nothing, whatever the key (B-740).
var EmptyHash = hash(nil)

func hash(lines []string) string {
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return HashPrefix + hex.EncodeToString(sum[:])
}

// lines are those of the fingerprint, one an included item (B-748).
func (p *decoded) lines(key []byte) ([]string, error) {
	var lines []string
	add := func(name string, actions tfjson.Actions, e effect) error {
		doc, err := e.canonical()
		if err != nil {
			return fmt.Errorf("hashing %s: %w", name, err)
		}
		words := make([]string, len(actions))
		for i, a := range actions {
			words[i] = string(a)
		}
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write(doc) // a hash has no errors
		lines = append(lines, name+"|"+strings.Join(words, ",")+"|"+hex.EncodeToString(mac.Sum(nil)))
		return nil
	}
	for _, r := range p.Resources {
		if !included(r) {
			continue
		}
		e := effectOf(r.Change)
		e.Deposed = r.DeposedKey
		if moved(r) {
			e.Move = r.PreviousAddress
		}
		if err := add(r.Address, r.Change.Actions, e); err != nil {
			return nil, err
		}
	}
	for name, c := range p.Outputs {
		if c.Actions.NoOp() {
			continue
		}
		if err := add("output."+name, c.Actions, effectOf(c)); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// effect is what a change does, in the form that is hashed (B-750). Empty parts are left out. Paths are JSON lists in
// which the key of an object or a map is a string and the index of a list a number.
type effect struct {
	// Changed are the leaves that differ, by path, of an update or a replacement.
	Changed map[string]leaf `json:"changed,omitempty"`
	// Planned are the leaves of what is created or read, by path.
	Planned map[string]any `json:"planned,omitempty"`
	// Unknown are the paths that are known after the apply only.
	Unknown []string `json:"unknown,omitempty"`
	// Sensitive are the paths that are planned to be sensitive, of what is created or read.
	Sensitive []string `json:"sensitive,omitempty"`
	// Marked and Unmarked are the paths that become and cease to be sensitive.
	Marked   []string `json:"marked,omitempty"`
	Unmarked []string `json:"unmarked,omitempty"`
	// Import names the object that is imported, Move the address before a move.
	Import *imported `json:"import,omitempty"`
	Move   string    `json:"move,omitempty"`
	// Deposed tells a leftover of a replacement from the object that has its place.
	Deposed string `json:"deposed,omitempty"`
}

type imported struct {
	ID       string `json:"id,omitempty"`
	Identity any    `json:"identity,omitempty"`
	Unknown  bool   `json:"unknown,omitempty"`
}

// leaf has the values before and after; one that is nil is absent, which null is not.
type leaf struct {
	Old *any `json:"old,omitempty"`
	New *any `json:"new,omitempty"`
}

func effectOf(c *tfjson.Change) effect {
	var e effect
	if i := c.Importing; i != nil {
		e.Import = &imported{ID: i.ID, Identity: i.Identity, Unknown: i.Unknown}
	}
	switch a := c.Actions; {
	case a.NoOp(), !slices.ContainsFunc(a, sets):
		// Nothing, or only deleted or forgotten: that there is such a change says it all.
	case a.Create(), a.Read():
		unknown := marks(c.AfterUnknown)
		e.Planned = leaves(c.After, unknown)
		e.Unknown = unknown.list()
		e.Sensitive = marks(c.AfterSensitive).list()
	default:
		unknown := marks(c.AfterUnknown)
		e.Changed = differences(leaves(c.Before, nil), leaves(c.After, unknown))
		e.Unknown = unknown.list()
		before, after := marks(c.BeforeSensitive), marks(c.AfterSensitive)
		e.Marked, e.Unmarked = after.without(before), before.without(after)
	}
	return e
}

// sets reports whether an action gives an object values.
func sets(a tfjson.Action) bool {
	return a != tfjson.ActionNoop && a != tfjson.ActionDelete && a != tfjson.ActionForget
}

func differences(before, after map[string]any) map[string]leaf {
	changed := map[string]leaf{}
	for path, old := range before {
		now, there := after[path]
		switch {
		case !there:
			changed[path] = leaf{Old: &old}
		case !equal(old, now):
			changed[path] = leaf{Old: &old, New: &now}
		}
	}
	for path, now := range after {
		if _, there := before[path]; !there {
			changed[path] = leaf{New: &now}
		}
	}
	return changed
}

// equal compares two leaves: null, text, booleans, numbers as they are written, and empty lists and objects.
func equal(a, b any) bool {
	switch x := a.(type) {
	case []any:
		_, ok := b.([]any)
		return ok
	case map[string]any:
		_, ok := b.(map[string]any)
		return ok
	default:
		switch b.(type) {
		case []any, map[string]any:
			return false
		}
		return x == b
	}
}

// leaves are the parts of a value that have no parts, by path, without those below a marked path.
func leaves(v any, unknown pathSet) map[string]any {
	found := map[string]any{}
	walk(v, nil, func(path string, leaf any) bool {
		if unknown[path] {
			return false
		}
		switch x := leaf.(type) {
		case []any:
			if len(x) > 0 {
				return true
			}
		case map[string]any:
			if len(x) > 0 {
				return true
			}
		}
		found[path] = leaf
		return false
	})
	if v == nil && len(found) == 1 {
		delete(found, "[]") // no object at all, which is not an object that is null
	}
	return found
}

// pathSet are paths that are marked as unknown or as sensitive.
type pathSet map[string]bool

// marks are the paths at which a value of marks has true; everything below is covered by it.
func marks(v any) pathSet {
	set := pathSet{}
	walk(v, nil, func(path string, mark any) bool {
		if b, ok := mark.(bool); ok {
			if b {
				set[path] = true
			}
			return false
		}
		return true
	})
	return set
}

func (s pathSet) list() []string { return s.without(nil) }

func (s pathSet) without(other pathSet) []string {
	var list []string
	for path := range s {
		if !other[path] {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// walk calls visit for a value and, where that returns true, for its parts.
func walk(v any, path []byte, visit func(path string, v any) bool) {
	if !visit("["+string(path)+"]", v) {
		return
	}
	step := func(key []byte) []byte {
		next := slices.Clone(path)
		if len(next) > 0 {
			next = append(next, ',')
		}
		return append(next, key...)
	}
	switch x := v.(type) {
	case []any:
		for i, part := range x {
			walk(part, step(strconv.AppendInt(nil, int64(i), 10)), visit)
		}
	case map[string]any:
		for key, part := range x {
			walk(part, step(quote(key)), visit)
		}
	}
}

func quote(s string) []byte {
	b, err := marshal(s)
	if err != nil {
		panic("quoting a text: " + err.Error()) // JSON holds every text
	}
	return b
}

// canonical is the JSON form that is hashed (B-751): sorted keys, no white space, no HTML escapes, numbers as written.
func (e effect) canonical() ([]byte, error) {
	// Through a map, so that all keys are sorted and not only those of maps.
	b, err := marshal(e)
	if err != nil {
		return nil, err
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return marshal(v)
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
