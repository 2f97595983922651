package simcloud

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// filler gives every unknown value of an object one that depends on the object's seed only.
type filler struct {
	c       *Context
	brain   *brain
	block   *tfprotov6.SchemaBlock
	values  map[string]Value
	working map[string]bool
}

// fill makes what is unknown in the context's object.
func (b *brain) fill(c *Context, block *tfprotov6.SchemaBlock, values map[string]Value) {
	f := &filler{c: c, brain: b, block: block, values: values, working: map[string]bool{}}
	c.make = f.member
	f.member("id")
	for _, a := range block.Attributes {
		f.member(a.Name)
	}
	for _, n := range block.BlockTypes {
		f.member(n.TypeName)
	}
	c.make, c.path = nil, ""
}

// member makes one attribute or block of the object. One that is being made already, because
// generators ask for each other's, stays unknown until that is done.
func (f *filler) member(name string) {
	attrs := f.c.object.Attributes
	x, ok := attrs[name]
	if !ok || f.working[name] {
		return
	}
	f.working[name] = true
	path := f.c.path
	if a := attribute(f.block, name); a != nil {
		attrs[name] = f.attribute(a, x, name, name)
	} else if n := nested(f.block, name); n != nil {
		f.nested(n, x, name, name)
	}
	f.c.path = path
	f.working[name] = false
}

// attribute returns a value without unknowns. path has no indexes, label has.
func (f *filler) attribute(a *tfprotov6.SchemaAttribute, x any, path, label string) any {
	if _, open := x.(unknown); open {
		return f.value(a.Name, a.ValueType(), path, label)
	}
	if a.NestedType == nil {
		return f.inside(a.Name, a.ValueType(), x, path, label)
	}
	for i, e := range blockElements(x, a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeMap) {
		for _, n := range a.NestedType.Attributes {
			e[n.Name] = f.attribute(n, e[n.Name], path+"."+n.Name, label+"."+strconv.Itoa(i)+"."+n.Name)
		}
	}
	return x
}

func (f *filler) nested(n *tfprotov6.SchemaNestedBlock, x any, path, label string) {
	for i, e := range blockElements(x, n.Nesting == tfprotov6.SchemaNestedBlockNestingModeMap) {
		for _, a := range n.Block.Attributes {
			e[a.Name] = f.attribute(a, e[a.Name], path+"."+a.Name, label+"."+strconv.Itoa(i)+"."+a.Name)
		}
		for _, m := range n.Block.BlockTypes {
			f.nested(m, e[m.TypeName], path+"."+m.TypeName, label+"."+strconv.Itoa(i)+"."+m.TypeName)
		}
	}
}

// inside makes the unknowns in a value that is known in part.
func (f *filler) inside(name string, t tftypes.Type, x any, path, label string) any {
	switch v := x.(type) {
	case unknown:
		return f.generic(name, t, label)
	case map[string]any:
		object, _ := t.(tftypes.Object)
		for _, k := range keys(v) {
			et := elementType(t, 0)
			if object.AttributeTypes != nil {
				et = object.AttributeTypes[k]
			}
			v[k] = f.inside(k, et, v[k], path+"."+k, label+"."+k)
		}
	case []any:
		for i := range v {
			v[i] = f.inside(name, elementType(t, i), v[i], path, label+"."+strconv.Itoa(i))
		}
	}
	return x
}

// value makes one value by the tables, or else a generic one.
func (f *filler) value(name string, t tftypes.Type, path, label string) any {
	candidates := []Value{f.values[path]}
	if !strings.Contains(path, ".") {
		// What holds for every type holds for its own attributes, not for those of blocks.
		candidates = append(candidates, f.brain.persona.Values[path])
	}
	for _, v := range candidates {
		if v == nil {
			continue
		}
		f.c.path = label
		x := normal(v(f.c))
		if x == nil {
			continue
		}
		if y, err := typed(t, x); err == nil {
			return plain(y)
		}
	}
	f.c.path = label
	return f.generic(name, t, label)
}

// generic makes a plausible value of a type.
func (f *filler) generic(name string, t tftypes.Type, label string) any {
	switch {
	case t == nil:
		return nil
	case t.Is(tftypes.String):
		return f.text(name, label)
	case t.Is(tftypes.DynamicPseudoType):
		return dynamic{typ: tftypes.String, value: f.text(name, label)}
	case t.Is(tftypes.Number):
		return normal(1)
	case t.Is(tftypes.Bool):
		return false
	case t.Is(tftypes.Map{}):
		return map[string]any{}
	case t.Is(tftypes.Object{}):
		out := map[string]any{}
		object := t.(tftypes.Object) //nolint:forcetypeassert // Is said so.
		for _, k := range keys(object.AttributeTypes) {
			out[k] = f.generic(k, object.AttributeTypes[k], label+"."+k)
		}
		return out
	case t.Is(tftypes.Tuple{}):
		var out []any
		for i, et := range t.(tftypes.Tuple).ElementTypes { //nolint:forcetypeassert // Is said so.
			out = append(out, f.generic(name, et, label+"."+strconv.Itoa(i)))
		}
		return out
	}
	et := elementType(t, 0)
	if one, ok := singular(name); ok && et != nil && et.Is(tftypes.String) {
		var out []any
		for i := range 3 {
			out = append(out, f.text(one, label+"."+strconv.Itoa(i)))
		}
		return out
	}
	return []any{}
}

// singular is the name of one element of a list whose name says that it is never empty.
func singular(name string) (string, bool) {
	for _, plural := range []string{"ids", "arns", "names", "ips", "ip_addresses", "addresses"} {
		if head, ok := strings.CutSuffix(name, plural); ok && (head == "" || strings.HasSuffix(head, "_")) {
			one := strings.TrimSuffix(plural, "s")
			if strings.HasSuffix(plural, "addresses") {
				one = strings.TrimSuffix(plural, "es")
			}
			return head + one, true
		}
	}
	return "", false
}

// texts are the forms of generic texts by the name of their attribute, the first that fits.
var texts = []struct {
	fits func(name string) bool
	form func(f *filler, label string) string
}{
	{is("region", "location"), func(f *filler, _ string) string { return orElse(f.c.Settings().Region, "sim-region-1") }},
	{is("id"), func(f *filler, label string) string { return f.short() + "-" + f.c.Hex(label, 17) }},
	{is("project", "project_id", "account_id", "owner_id", "tenant_id", "subscription_id"), func(f *filler, _ string) string {
		return orElse(f.c.Settings().Account, "123456789012")
	}},
	{is("uuid", "unique_id"), func(f *filler, label string) string { return f.c.UUID(label) }},
	{has("mac"), func(f *filler, label string) string { return hardware(f.c.Hex(label, 10)) }},
	{ends("cidr", "cidr_block", "ip_range", "address_prefix"), func(f *filler, label string) string {
		return fmt.Sprintf("10.%d.0.0/16", f.c.Pick(label, 256))
	}},
	{has("ipv6", "ip_v6"), func(f *filler, label string) string {
		h := f.c.Hex(label, 9)
		return fmt.Sprintf("2001:db8:%s:%s::%s", h[:4], h[4:8], "1"+h[8:])
	}},
	{ends("ip", "ip_v4", "ip_address", "ipv4_address", "address"), func(f *filler, label string) string {
		if strings.Contains(label, "public") || strings.Contains(label, "floating") || strings.Contains(label, "nat_ip") {
			return f.c.Address("198.18.0.0/15")
		}
		return f.c.Address("10.0.0.0/8")
	}},
	{ends("zone", "availability_zone", "availability_domain"), func(f *filler, _ string) string {
		return orElse(f.c.Settings().Region, "sim-region-1") + "a"
	}},
	{has("dns", "fqdn", "hostname", "endpoint", "domain"), func(f *filler, label string) string {
		name := orElse(hostLabel(f.c.Text("name")), f.short())
		return name + "-" + f.c.Hex(label, 8) + "." + hostLabel(orElse(f.c.Settings().Region, "sim")) + ".sim.internal"
	}},
	{ends("date", "time", "at", "timestamp"), func(*filler, string) string { return "2026-01-01T00:00:00Z" }},
	{ends("json", "policy"), func(*filler, string) string { return "{}" }},
	{is("state", "status"), func(*filler, string) string { return "active" }},
}

// text makes a generic text by the name of its attribute.
func (f *filler) text(name, label string) string {
	for _, t := range texts {
		if t.fits(name) {
			if s := t.form(f, label); s != "" {
				return s
			}
		}
	}
	return "sim-" + f.c.Hex(label, 17)
}

// short is the last word of the type, such as instance.
func (f *filler) short() string {
	_, rest, _ := strings.Cut(f.c.Type(), "_")
	return hostLabel(orElse(rest, f.c.Type()))
}

// hardware is a unicast, locally administered hardware address.
func hardware(hex string) string {
	return fmt.Sprintf("02:%s:%s:%s:%s:%s", hex[0:2], hex[2:4], hex[4:6], hex[6:8], hex[8:10])
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func is(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func has(words ...string) func(string) bool {
	return func(name string) bool {
		for _, w := range words {
			if strings.Contains("_"+name+"_", "_"+w+"_") || len(w) > 3 && strings.Contains(name, w) {
				return true
			}
		}
		return false
	}
}

func ends(words ...string) func(string) bool {
	return func(name string) bool {
		for _, w := range words {
			if name == w || strings.HasSuffix(name, "_"+w) {
				return true
			}
		}
		return false
	}
}
