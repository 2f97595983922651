package persona

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// group is how a scaling group keeps its members, which exist in the cloud as
// instances that no resource manages.
type group struct {
	// members returns the group's own, in the order in which they were made.
	members func(c *simcloud.Context) []*simcloud.Object
	// build makes one. Place is a zone or subnet of the group; label differs for each.
	build func(c *simcloud.Context, place, label string) simcloud.Object
	// places are where members go; the one with the fewest gets the next.
	places func(c *simcloud.Context) []string
	// place is where a member is.
	place func(o *simcloud.Object) string
	// size is how many are wanted.
	size func(c *simcloud.Context) int
	// state is the attribute that holds the state, and the values of one that starts and one that runs.
	state, starting, running string
	// stale tells that a member has to make way for a successor; nil is never.
	stale func(c *simcloud.Context, o *simcloud.Object) bool
}

// made is an attribute of a group, in no schema, that counts all that it ever made.
const made = "captf_made"

// resize makes or removes members until there are as many as wanted.
func (g group) resize(c *simcloud.Context) error {
	members := g.members(c)
	want := max(0, g.size(c))
	for len(members) > want {
		victim := g.victim(members)
		c.Remove(victim.Type, victim.ID)
		members = slices.DeleteFunc(members, func(o *simcloud.Object) bool { return o.ID == victim.ID })
	}
	return g.launch(c, members, want-len(members))
}

// launch makes n members beside those that are there.
func (g group) launch(c *simcloud.Context, members []*simcloud.Object, n int) error {
	places := g.places(c)
	if len(places) == 0 || n <= 0 {
		return nil
	}
	count := map[string]int{}
	for _, o := range members {
		count[g.place(o)]++
	}
	// The number goes on over updates, whose plan does not know it.
	serial := c.Int(made)
	if old := c.Object(c.Type(), c.Text("id")); old != nil && serial == 0 {
		serial, _ = strconv.Atoi(old.Text(made))
	}
	for range n {
		place := slices.MinFunc(places, func(a, b string) int {
			return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b))
		})
		count[place]++
		serial++
		o := g.build(c, place, "member/"+strconv.Itoa(serial))
		o.Attributes[g.state] = g.starting
		c.Set(made, serial)
		if err := c.Put(o); err != nil {
			return err
		}
	}
	return nil
}

// victim is the oldest member of the fullest place.
func (g group) victim(members []*simcloud.Object) *simcloud.Object {
	count := map[string]int{}
	for _, o := range members {
		count[g.place(o)]++
	}
	return slices.MinFunc(members, func(a, b *simcloud.Object) int {
		return cmp.Or(cmp.Compare(count[g.place(b)], count[g.place(a)]), cmp.Compare(a.Serial, b.Serial))
	})
}

// tick is what goes on between two looks at a group: members that were starting run, those
// that are stale go once their successors run, and those that are missing come.
func (g group) tick(c *simcloud.Context) error {
	members := g.members(c)
	for _, o := range members {
		if o.Text(g.state) == g.starting {
			o.Attributes[g.state] = g.running
			if err := c.Put(*o); err != nil {
				return err
			}
		}
	}
	var stale, fresh []*simcloud.Object
	for _, o := range members {
		if g.stale != nil && g.stale(c, o) {
			stale = append(stale, o)
		} else {
			fresh = append(fresh, o)
		}
	}
	want := max(0, g.size(c))
	switch {
	case len(stale) == 0:
		if len(members) != want {
			return g.resize(c)
		}
	case len(fresh) >= want:
		for _, o := range stale {
			c.Remove(o.Type, o.ID)
		}
	case len(fresh) < want:
		return g.launch(c, members, want-len(fresh))
	}
	return nil
}

// addressBeside gives an address of a range that no object of a type has in an attribute, for
// a member that a group makes: [simcloud.Context.Address] tells only the group itself apart from others.
func addressBeside(c *simcloud.Context, typ, attribute, cidr, label string) string {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return ""
	}
	used := map[string]bool{}
	for _, o := range c.Objects(typ) {
		used[o.Text(attribute)] = true
	}
	p = p.Masked()
	size := 1 << min(p.Addr().BitLen()-p.Bits(), 16)
	const reserved = 10
	free := size - reserved - 1
	if free <= 0 {
		return ""
	}
	start := c.Pick("member:"+label, free)
	tried := 0
	return c.Unique("address", func(int) string {
		for ; tried < free; tried++ {
			if s := nth(p.Addr(), reserved+(start+tried)%free); !used[s] {
				tried++
				return s
			}
		}
		return ""
	})
}

// nth is the n-th address after a.
func nth(a netip.Addr, n int) string {
	b := a.As16()
	for i := len(b) - 1; n > 0 && i >= 0; i-- {
		n += int(b[i])
		b[i] = byte(n) //nolint:gosec // The rest is carried on.
		n >>= 8
	}
	out := netip.AddrFrom16(b)
	if a.Is4() {
		out = out.Unmap()
	}
	return out.String()
}
