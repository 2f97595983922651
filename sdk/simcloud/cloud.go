package simcloud

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Limits keep a cloud in memory. Zero means the default.
type Limits struct {
	// Objects is how many objects may exist; by default 10,000.
	Objects int
	// ObjectBytes is how large the attributes of one object may be; by default 4 MiB.
	ObjectBytes int
	// Bytes is how large all objects together may be; by default 128 MiB.
	Bytes int
}

func (l Limits) orDefault() Limits {
	l.Objects = cmp.Or(max(0, l.Objects), 10_000)
	l.ObjectBytes = cmp.Or(max(0, l.ObjectBytes), 4<<20)
	l.Bytes = cmp.Or(max(0, l.Bytes), 128<<20)
	return l
}

// maxJournal is how many calls are remembered.
const maxJournal = 20_000

// Object is one thing that exists in the cloud.
type Object struct {
	// Key is what the provider keeps in its private state to find the object again.
	Key string `json:"key"`
	// Source is the provider, such as hashicorp/aws; Type the resource type.
	Source string `json:"source"`
	Type   string `json:"type"`
	// ID is the attribute id, or what stands for it.
	ID   string `json:"id"`
	Kind Kind   `json:"kind,omitempty"`
	// Owner is on whose behalf it was made; see [Server.Reattach].
	Owner string `json:"owner,omitempty"`
	// Maker is the key of the object that made it beside itself, "" if a resource did.
	Maker   string `json:"maker,omitempty"`
	Region  string `json:"region,omitempty"`
	Account string `json:"account,omitempty"`
	// Attributes are the values by the schema, as plain Go: nil, string, bool,
	// json.Number, []any and map[string]any. They may hold secrets.
	Attributes map[string]any `json:"attributes"`
	// Reads is how often it was refreshed.
	Reads int `json:"reads,omitempty"`
	// Serial is its place in the order in which all objects were made, from 1.
	Serial int `json:"serial"`

	size int
}

// Get returns an attribute by its path; see [Context.Attr].
func (o *Object) Get(path string) any { return lookup(o.Attributes, path) }

// Text is [Object.Get] as text.
func (o *Object) Text(path string) string { return text(o.Get(path)) }

func (o *Object) clone() *Object {
	c := *o
	c.Attributes, _ = normal(o.Attributes).(map[string]any)
	return &c
}

// Call is one line of a cloud's journal.
type Call struct {
	Op    Op     `json:"op"`
	Type  string `json:"type"`
	ID    string `json:"id,omitempty"`
	Owner string `json:"owner,omitempty"`
	// Region is that of the provider's configuration or of the object.
	Region string `json:"region,omitempty"`
	// Error is why it was refused, "" if it was not.
	Error string `json:"error,omitempty"`
}

// Cloud is what providers have made. It outlives the runs that made it and may
// be used from several goroutines.
type Cloud struct {
	limits Limits

	mu      sync.Mutex
	objects map[string]*Object // by key
	byID    map[string]*Object // by type and id
	asked   map[string]int     // how often the same was asked for
	claims  map[string]string  // a name in a space, and the key of who has it
	serial  int
	size    int
	faults  []*Injected
	busy    map[string]int // changes of a parent that are going on
	journal []Call
	lost    int
	brains  map[string]*brain // what is known of a provider's types, by source
}

// NewCloud returns an empty cloud.
func NewCloud(l Limits) *Cloud {
	return &Cloud{
		limits: l.orDefault(), objects: map[string]*Object{}, byID: map[string]*Object{}, asked: map[string]int{},
		claims: map[string]string{}, busy: map[string]int{}, brains: map[string]*brain{},
	}
}

func place(typ, id string) string { return typ + "\x00" + id }

// Objects returns copies of everything that exists, in the order in which it was made.
func (c *Cloud) Objects() []*Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.Collect(maps.Values(c.objects))
	slices.SortFunc(list, func(a, b *Object) int { return cmp.Compare(a.Serial, b.Serial) })
	for i, o := range list {
		list[i] = o.clone()
	}
	return list
}

// Find returns a copy of the object with a type and id, nil if there is none.
func (c *Cloud) Find(typ, id string) *Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.find(typ, id); o != nil {
		return o.clone()
	}
	return nil
}

// Journal returns the calls so far, the oldest first, and how many older ones are
// not remembered any more. Reads are not in it unless they were refused.
func (c *Cloud) Journal() ([]Call, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.journal), c.lost
}

func (c *Cloud) record(k Call) {
	if len(c.journal) >= maxJournal {
		drop := maxJournal / 4
		c.journal = slices.Delete(c.journal, 0, drop)
		c.lost += drop
	}
	c.journal = append(c.journal, k)
}

// What follows expects the lock to be held.

func (c *Cloud) find(typ, id string) *Object { return c.byID[place(typ, id)] }

// list returns the objects of the types that a glob fits, by type and serial.
func (c *Cloud) list(typ string) []*Object {
	var out []*Object
	for _, o := range c.objects {
		if glob(typ, o.Type) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *Object) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), cmp.Compare(a.Serial, b.Serial))
	})
	return out
}

// weigh is about how many bytes a value takes.
func weigh(x any) int {
	switch v := x.(type) {
	case string:
		return len(v) + 16
	case json.Number:
		return len(v) + 16
	case []any:
		n := 24
		for _, e := range v {
			n += weigh(e)
		}
		return n
	case map[string]any:
		n := 48
		for k, e := range v {
			n += len(k) + 16 + weigh(e)
		}
		return n
	}
	return 16
}

// fits tells whether an object of a new size has room, beside what it had.
func (c *Cloud) fits(o *Object, size, had int) error {
	l := c.limits
	switch {
	case size > l.ObjectBytes:
		return c.full(o, fmt.Sprintf("it is %d KiB large, and an object of the simulated cloud may have %d KiB", size>>10, l.ObjectBytes>>10))
	case had == 0 && len(c.objects) >= l.Objects:
		return c.full(o, fmt.Sprintf("there are %d objects already, which is the most that the simulated cloud keeps", len(c.objects)))
	case c.size+size-had > l.Bytes:
		return c.full(o, fmt.Sprintf("the objects of the simulated cloud would be %d MiB large, and it keeps %d MiB", (c.size+size-had)>>20, l.Bytes>>20))
	}
	return nil
}

func (c *Cloud) full(o *Object, detail string) error {
	return &refusal{reason: RefuseLimit, text: fmt.Sprintf("making %s: %s", o.Type, detail)}
}

// add stores a new object.
func (c *Cloud) add(o *Object) error {
	size := weigh(o.Attributes)
	if err := c.fits(o, size, 0); err != nil {
		return err
	}
	c.serial++
	o.Serial, o.size = c.serial, size
	c.size += size
	c.objects[o.Key] = o
	c.byID[place(o.Type, o.ID)] = o
	return nil
}

// replace stores an object that has changed.
func (c *Cloud) replace(o *Object) error {
	old := c.objects[o.Key]
	if old == nil {
		return c.add(o)
	}
	size := weigh(o.Attributes)
	if err := c.fits(o, size, max(1, old.size)); err != nil {
		return err
	}
	c.size += size - old.size
	delete(c.byID, place(old.Type, old.ID))
	o.size, o.Serial = size, old.Serial
	c.objects[o.Key] = o
	c.byID[place(o.Type, o.ID)] = o
	return nil
}

// remove removes an object with everything that it made.
func (c *Cloud) remove(o *Object) {
	delete(c.objects, o.Key)
	if c.byID[place(o.Type, o.ID)] == o {
		delete(c.byID, place(o.Type, o.ID))
	}
	c.size -= o.size
	c.release(o.Key)
	for _, made := range c.list("") {
		if made.Maker == o.Key {
			c.remove(made)
		}
	}
}

// claim takes a name in a space for the object with a key.
func (c *Cloud) claim(name, key string) bool {
	if owner, taken := c.claims[name]; taken {
		return owner == key
	}
	c.claims[name] = key
	return true
}

// release gives back the names that an object has.
func (c *Cloud) release(key string) {
	for name, owner := range c.claims {
		if owner == key {
			delete(c.claims, name)
		}
	}
}

// count returns how often the same was asked for, from 1.
func (c *Cloud) count(what string) int {
	c.asked[what]++
	return c.asked[what]
}

// rule is what is known of a type beside its schema.
func (c *Cloud) rule(source, typ string) TypeRule {
	if b := c.brains[source]; b != nil {
		return b.persona.Types[typ]
	}
	return TypeRule{}
}

// kind is the kind of a type, by its rule or else by its name.
func (c *Cloud) kind(source, typ string) Kind {
	if k := c.rule(source, typ).Kind; k != KindOther {
		return k
	}
	return kindByName(typ)
}

// refusal is the text of a refusal.
func (c *Cloud) refusal(source string, r Refusal, detail string) string {
	text := refusals[r]
	if b := c.brains[source]; b != nil && b.persona.Refusals[r] != "" {
		text = b.persona.Refusals[r]
	}
	if detail != "" {
		text += ": " + detail
	}
	return text
}

var refusals = map[Refusal]string{
	RefuseExists:   "an object of that name already exists",
	RefuseInUse:    "the object is in use",
	RefuseQuota:    "the quota is used up",
	RefuseConflict: "another change of the same object is going on",
	RefuseGone:     "the object does not exist",
	RefuseLimit:    "the simulated cloud is full",
}
