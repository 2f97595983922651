package simcloud

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Context is one call to the cloud, as generators and hooks see it. It is valid
// until they return; nothing else happens in the cloud meanwhile.
type Context struct {
	cloud    *Cloud
	op       Op
	settings Settings
	object   *Object
	seed     string
	path     string
	// make makes an attribute of the object that is not known yet.
	make func(name string)
}

// Op is the kind of call.
func (c *Context) Op() Op { return c.op }

// Type is the type of the resource, data source or ephemeral resource.
func (c *Context) Type() string { return c.object.Type }

// Owner is on whose behalf the call is made; see [Server.Reattach].
func (c *Context) Owner() string { return c.object.Owner }

// Settings are those of the provider's configuration. Region is that of the
// object, if it says another one.
func (c *Context) Settings() Settings {
	s := c.settings
	if c.object.Region != "" {
		s.Region = c.object.Region
	}
	return s
}

// Path is the path of the attribute that is made; "" in a hook.
func (c *Context) Path() string { return c.path }

// Attr returns an attribute of the object, nil if it is null. A path leads into
// blocks, maps and lists: root_block_device.0.volume_id, tags.Name; a list
// without an index means its first element. In data sources these are the
// arguments and what has been answered so far.
func (c *Context) Attr(path string) any {
	head, _, _ := strings.Cut(path, ".")
	if _, is := c.object.Attributes[head].(unknown); is && c.make != nil {
		c.make(head)
	}
	x := lookup(c.object.Attributes, path)
	if _, is := x.(unknown); is {
		return nil
	}
	return x
}

// Text is [Context.Attr] as text; "" if it is null or holds other values.
func (c *Context) Text(path string) string { return text(c.Attr(path)) }

// Int is [Context.Attr] as a whole number; 0 if it is none.
func (c *Context) Int(path string) int {
	n, _ := number(c.Attr(path))
	return n
}

// Bool tells that an attribute is true.
func (c *Context) Bool(path string) bool { return c.Attr(path) == true }

// Set sets an attribute of the object. What a provider may not change, because
// the configuration says it, is left as it is in plans, so set only what is
// computed.
func (c *Context) Set(path string, x any) { assign(c.object.Attributes, path, normal(x)) }

// Hex gives n hexadecimal digits that depend on the object and the label.
func (c *Context) Hex(label string, n int) string {
	n = max(0, min(n, 1024))
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		sum := sha256.Sum256([]byte(c.seed + "\x00" + label + "\x00" + strconv.Itoa(i)))
		b.WriteString(hex.EncodeToString(sum[:]))
	}
	return b.String()[:n]
}

// Digits gives n decimal digits, the first of them not 0.
func (c *Context) Digits(label string, n int) string {
	n = max(1, min(n, 64))
	x, _ := new(big.Int).SetString(c.Hex(label, 60), 16)
	low := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n-1)), nil)
	x.Mod(x, new(big.Int).Mul(low, big.NewInt(9)))
	return x.Add(x, low).String()
}

// UUID gives a random-looking UUID.
func (c *Context) UUID(label string) string {
	h := []byte(c.Hex(label, 32))
	h[12], h[16] = '4', "89ab"[h[16]%4]
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

// Pick gives a number from 0 to n-1.
func (c *Context) Pick(label string, n int) int {
	if n <= 1 {
		return 0
	}
	x, _ := strconv.ParseUint(c.Hex(label, 15), 16, 64)
	return int(x % uint64(n)) //nolint:gosec // It is below n.
}

// Unique gives the first of a row of candidates that no other object has in the
// space that is named, and keeps it for this object. It gives "" when the row
// ends with "".
func (c *Context) Unique(space string, candidate func(i int) string) string {
	const most = 1 << 20
	for i := range most {
		s := candidate(i)
		if s == "" {
			return ""
		}
		if c.cloud.claim(space+"\x00"+c.settings.Account+"\x00"+s, c.object.Key) {
			return s
		}
	}
	return ""
}

// Object returns a copy of the object with an id, nil if there is none. The type may be a glob.
func (c *Context) Object(typ, id string) *Object {
	if id == "" {
		return nil
	}
	for _, o := range c.cloud.list(typ) {
		if o.ID == id {
			return o.clone()
		}
	}
	return nil
}

// Objects returns copies of the objects of the types that a glob fits, sorted by type and then
// in the order in which they were made.
func (c *Context) Objects(typ string) []*Object {
	list := c.cloud.list(typ)
	out := make([]*Object, 0, len(list))
	for _, o := range list {
		out = append(out, o.clone())
	}
	return out
}

// Put makes another object, or changes it if one of the type and id is there, on
// behalf of this one: as a group does with its instances. What is made is deleted
// with this object.
func (c *Context) Put(o Object) error {
	if o.Type == "" || o.ID == "" {
		return fmt.Errorf("making an object on behalf of %s: it has no type or no id", c.object.Type)
	}
	o.Attributes, _ = normal(o.Attributes).(map[string]any)
	if old := c.cloud.find(o.Type, o.ID); old != nil {
		old.Attributes = o.Attributes
		return nil
	}
	o.Key = c.object.Key + "/" + o.Type + "/" + o.ID
	o.Source, o.Owner, o.Maker = c.object.Source, c.object.Owner, c.object.Key
	if o.Region == "" {
		o.Region = c.object.Region
	}
	o.Account = c.object.Account
	if o.Kind == KindOther {
		o.Kind = c.cloud.kind(o.Source, o.Type)
	}
	return c.cloud.add(&o)
}

// Remove removes an object that [Context.Put] or another call made; it reports whether it was there.
func (c *Context) Remove(typ, id string) bool {
	o := c.cloud.find(typ, id)
	if o == nil {
		return false
	}
	c.cloud.remove(o)
	return true
}

// Refuse is an error with which a hook refuses a call, in the cloud's own words if the
// persona has any.
func (c *Context) Refuse(r Refusal, detail string) error {
	return &refusal{reason: r, text: c.cloud.refusal(c.object.Source, r, detail)}
}

// refusal is an error of the simulated cloud.
type refusal struct {
	reason Refusal
	text   string
}

func (r *refusal) Error() string { return r.text }

// unknown stands for a value that is not made yet.
type unknown struct{}

// lookup follows a path through plain values. A list without an index means its first element.
func lookup(m map[string]any, path string) any {
	var x any = m
	for path != "" {
		switch v := x.(type) {
		case map[string]any:
			if y, ok := v[path]; ok { // a key may have dots
				return y
			}
			var head string
			head, path, _ = strings.Cut(path, ".")
			x = v[head]
		case []any:
			head, rest, _ := strings.Cut(path, ".")
			n, err := strconv.Atoi(head)
			if err != nil {
				n, rest = 0, path
			}
			if n < 0 || n >= len(v) {
				return nil
			}
			x, path = v[n], rest
		default:
			return nil
		}
	}
	return x
}

// assign sets what a path leads to, if all but its last part is there.
func assign(m map[string]any, path string, x any) {
	i := strings.LastIndex(path, ".")
	if i < 0 {
		m[path] = x
		return
	}
	switch v := lookup(m, path[:i]).(type) {
	case map[string]any:
		v[path[i+1:]] = x
	case []any:
		if n, err := strconv.Atoi(path[i+1:]); err == nil {
			if n >= 0 && n < len(v) {
				v[n] = x
			}
		} else if len(v) > 0 {
			if first, ok := v[0].(map[string]any); ok {
				first[path[i+1:]] = x
			}
		}
	}
}

// normal makes a value one of nil, string, bool, json.Number, []any, map[string]any.
func normal(x any) any {
	switch v := x.(type) {
	case nil, string, bool, json.Number, unknown, dynamic:
		return v
	case int:
		return json.Number(strconv.Itoa(v))
	case []string:
		out := make([]any, len(v))
		for i, s := range v {
			out[i] = s
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = normal(e)
		}
		return out
	case []map[string]any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = normal(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = normal(e)
		}
		return out
	case map[string]string:
		out := make(map[string]any, len(v))
		for k, s := range v {
			out[k] = s
		}
		return out
	}
	raw, err := json.Marshal(x)
	if err != nil {
		return nil
	}
	var out any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if d.Decode(&out) != nil {
		return nil
	}
	return out
}

// text is a scalar as text.
func text(x any) string {
	switch v := x.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// number is a scalar as a whole number.
func number(x any) (int, bool) {
	n, err := strconv.Atoi(text(x))
	return n, err == nil
}

// glob tells that a pattern fits a name; an empty pattern fits everything.
func glob(pattern, name string) bool {
	if pattern == "" || pattern == "*" || pattern == name {
		return true
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// keys are the keys of a map, sorted.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
