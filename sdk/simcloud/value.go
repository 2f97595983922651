package simcloud

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// Value makes the value of one attribute, as plain Go: nil, string, bool, a
// number, []any or map[string]any. It must only depend on the context. Of a
// value of the wrong type nothing is taken: the generic one is used.
type Value func(c *Context) any

// Const always gives x.
func Const(x any) Value { return func(*Context) any { return x } }

// Copy gives what another attribute of the object has.
func Copy(path string) Value { return func(c *Context) any { return c.Attr(path) } }

var placeholder = regexp.MustCompile(`\{[a-z][^{}]*\}`)

// Text fills a pattern: {region}, {account}, {hex:N}, {digits:N} and {uuid}, which
// differ for each attribute and object, and {attr:PATH}, another attribute of the
// object, such as {attr:id}.
func Text(pattern string) Value {
	return func(c *Context) any {
		return placeholder.ReplaceAllStringFunc(pattern, func(p string) string {
			name, arg, _ := strings.Cut(strings.Trim(p, "{}"), ":")
			n, _ := strconv.Atoi(arg)
			switch name {
			case "region":
				return c.Settings().Region
			case "account":
				return c.Settings().Account
			case "hex":
				return c.Hex(c.Path(), n)
			case "digits":
				return c.Digits(c.Path(), n)
			case "uuid":
				return c.UUID(c.Path())
			case "attr":
				return c.Text(arg)
			}
			return p
		})
	}
}

// From gives an attribute of another object: of the type that is named, whose id
// the attribute by holds (the first of it if it is a list). It gives nil if there
// is none.
func From(typ, by, attribute string) Value {
	return func(c *Context) any {
		if o := c.Object(typ, first(c.Attr(by))); o != nil {
			return lookup(o.Attributes, attribute)
		}
		return nil
	}
}

// OneOf gives the first of several generators' values that is not nil.
func OneOf(values ...Value) Value {
	return func(c *Context) any {
		for _, v := range values {
			if x := v(c); x != nil && x != "" {
				return x
			}
		}
		return nil
	}
}

// AddressIn gives an address that no other object has, of the range that the
// attribute cidr of the subnet has whose id the attribute by holds. Without such
// a subnet it is one of the range fallback, such as 10.0.0.0/16.
func AddressIn(subnet, by, cidr, fallback string) Value {
	return func(c *Context) any {
		network := fallback
		if o := c.Object(subnet, first(c.Attr(by))); o != nil {
			if s, ok := lookup(o.Attributes, cidr).(string); ok {
				network = s
			}
		}
		return c.Address(network)
	}
}

// first is x, or the first element of x, as a string.
func first(x any) string {
	if l, ok := x.([]any); ok {
		if len(l) == 0 {
			return ""
		}
		x = l[0]
	}
	s, _ := x.(string)
	return s
}

// Address gives an address of a range that no other object has, "" for a range
// that is none or is used up. The first ten addresses of a range, which clouds
// keep for themselves, are left out.
func (c *Context) Address(cidr string) string {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return ""
	}
	p = p.Masked()
	bits := min(p.Addr().BitLen()-p.Bits(), 20) // enough addresses, and few to try
	size := 1 << bits
	const reserved, last = 10, 1
	if size <= reserved+last {
		return ""
	}
	free := size - reserved - last
	start := c.Pick("address:"+cidr, free)
	return c.Unique("address", func(i int) string {
		if i >= free {
			return ""
		}
		return offset(p.Addr(), reserved+(start+i)%free).String()
	})
}

// offset is the n-th address after a.
func offset(a netip.Addr, n int) netip.Addr {
	b := a.As16()
	for i := len(b) - 1; n > 0 && i >= 0; i-- {
		n += int(b[i])
		b[i] = byte(n & 0xff)
		n >>= 8
	}
	out := netip.AddrFrom16(b)
	if a.Is4() {
		out = out.Unmap()
	}
	return out
}

// hostLabel is a form of any text that a hostname may have.
func hostLabel(s string) string {
	s = strings.Trim(notLabel.ReplaceAllString(strings.ToLower(s), "-"), "-")
	return strings.TrimRight(s[:min(len(s), 40)], "-")
}

var notLabel = regexp.MustCompile(`[^a-z0-9-]+`)
