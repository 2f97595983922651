package balancer

import (
	"slices"
	"strings"
)

// Attachments returns the recognised attachments among resources.
func Attachments(resources []Resource) []Resource {
	return having(resources, func(t *Type) bool { return t.Attachment != nil })
}

// Endpoints returns the recognised balancers and frontends among resources.
func Endpoints(resources []Resource) []Resource {
	return having(resources, func(t *Type) bool { return t.Frontend != nil || t.Listener != nil })
}

// Groups returns the recognised groups of instances among resources.
func Groups(resources []Resource) []Resource {
	return having(resources, func(t *Type) bool { return t.Group != nil })
}

func having(resources []Resource, keep func(*Type) bool) []Resource {
	var out []Resource
	for _, r := range resources {
		if t := TypeOf(r.Type); t != nil && keep(t) {
			out = append(out, r)
		}
	}
	return out
}

// TypeIn returns the resource type in an address such as module.lb.aws_lb.api[0].
func TypeIn(address string) string {
	parts := strings.Split(unkeyed(address), ".")
	if len(parts) < 2 {
		return ""
	}
	return parts[len(parts)-2]
}

// unkeyed returns an address without any instance key: keys may hold dots.
func unkeyed(address string) string {
	var b strings.Builder
	depth, quoted := 0, false
	for n, c := range address {
		switch {
		case quoted:
			quoted = c != '"' || address[n-1] == '\\'
		case c == '"':
			quoted = true
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// Selectors returns the recognised balancers that select instances by an
// attribute (pattern B).
func Selectors(resources []Resource) []Resource {
	var out []Resource
	for _, r := range resources {
		if t := TypeOf(r.Type); t != nil && t.Selects != "" && textAt(r.Values, t.Selects) != "" {
			out = append(out, r)
		}
	}
	return out
}

// Selected returns the instances that a selector among the cluster's resources matches.
func Selected(cluster, machine []Resource) []Resource {
	var out []Resource
	for _, s := range Selectors(cluster) {
		wanted := textAt(s.Values, TypeOf(s.Type).Selects)
		for _, r := range having(machine, func(t *Type) bool { return t.Selector != nil && t.Cloud == TypeOf(s.Type).Cloud }) {
			if selects(wanted, r.Values[TypeOf(r.Type).Selector.Path]) && !slices.ContainsFunc(out, func(o Resource) bool { return o.Address == r.Address }) {
				out = append(out, r)
			}
		}
	}
	return out
}

// selects tells that a selector such as role=control-plane,cluster=demo, or a
// tag, matches labels or tags.
func selects(selector string, labels any) bool {
	switch labels := labels.(type) {
	case map[string]any:
		for term := range strings.SplitSeq(selector, ",") {
			key, value, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(term), "==", "="), "=")
			if have, is := labels[key]; !is || value != "" && text(have) != value {
				return false
			}
		}
		return true
	case []any:
		return slices.ContainsFunc(labels, func(v any) bool { return text(v) == selector })
	}
	return false
}

// MemberLists returns the recognised resources that hold a complete list of
// members which is not empty.
func MemberLists(resources []Resource) []Resource {
	var out []Resource
	for _, r := range resources {
		t := TypeOf(r.Type)
		if t == nil {
			continue
		}
		for _, path := range t.Members {
			if len(at(r.Values, path)) > 0 {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

// PoolOf returns the reference of an attachment to its pool, "" when it is not known.
func PoolOf(r Resource) (path, value string) {
	t := TypeOf(r.Type)
	if t == nil || t.Attachment == nil {
		return "", ""
	}
	return t.Attachment.Pool, textAt(r.Values, t.Attachment.Pool)
}

// Mentions returns the resources in which an id stands, outside of lists of
// members that the cloud itself reports.
func Mentions(resources []Resource, id string) []string {
	var out []string
	for _, r := range resources {
		values := r.Values
		if t := TypeOf(r.Type); t != nil && len(t.Members) > 0 {
			values = map[string]any{}
			for k, v := range r.Values {
				if !slices.ContainsFunc(t.Members, func(path string) bool { return path == k || strings.HasPrefix(path, k+".") }) {
					values[k] = v
				}
			}
		}
		found := false
		scalars(values, func(s string) { found = found || s == id })
		if found {
			out = append(out, r.Address)
		}
	}
	return out
}

// InstanceIDs returns the ids of the recognised instances among resources.
func InstanceIDs(resources []Resource) []string {
	var out []string
	for _, r := range having(resources, func(t *Type) bool { return t.Instance }) {
		if id := textAt(r.Values, "id"); id != "" {
			out = append(out, id)
		}
	}
	return out
}

// Placed is where an instance is.
type Placed struct {
	// Address is the instance's, and Attribute what says the zone.
	Address, Attribute, Zone string
}

// PlacementsOf returns the zones of the recognised instances among resources, as
// far as they are known.
func PlacementsOf(resources []Resource) []Placed {
	var out []Placed
	for _, r := range having(resources, func(t *Type) bool { return t.Placement != "" }) {
		path := TypeOf(r.Type).Placement
		if zone := textAt(r.Values, path); zone != "" {
			out = append(out, Placed{r.Address, path, zone})
		}
	}
	return out
}

// Order is how an attachment and its instance depend on each other.
type Order int

// The orders.
const (
	// OrderUnknown: no instance is recognised.
	OrderUnknown Order = iota
	// OrderAfterInstance: the attachment is created after the instance, so it is destroyed before.
	OrderAfterInstance
	// OrderBeforeInstance: the instance is created after the attachment.
	OrderBeforeInstance
	// OrderNone: neither depends on the other.
	OrderNone
)

// OrderOf tells how an attachment of a state and the servers beside it depend on
// each other. Network cards count only where there is no server.
func OrderOf(attachment Resource, resources []Resource) Order {
	order := OrderUnknown
	for _, r := range having(resources, func(t *Type) bool { return t.Instance && !t.card() }) {
		switch {
		case slices.Contains(attachment.DependsOn, Baseless(r.Address)):
			return OrderAfterInstance
		case slices.Contains(r.DependsOn, Baseless(attachment.Address)):
			return OrderBeforeInstance
		}
		order = OrderNone
	}
	return order
}

// card tells that the type is the network card of an instance.
func (t *Type) card() bool {
	return strings.Contains(t.Name, "network_interface") || strings.Contains(t.Name, "networking_port")
}

// Waits returns the resources that an attachment is created after and that make
// nothing in a cloud, such as a pause or a script.
func Waits(attachment Resource, resources []Resource) []string {
	var out []string
	for _, r := range having(resources, func(t *Type) bool { return t.Waits }) {
		if slices.Contains(attachment.DependsOn, Baseless(r.Address)) {
			out = append(out, r.Address)
		}
	}
	return out
}

// Rolls tells whether a group replaces its members when it changes; why says why not.
func Rolls(group Resource) (ok bool, why string) {
	t := TypeOf(group.Type)
	switch g := t.Group; {
	case g.Never:
		return false, "members of a " + group.Type + " keep what they were launched with until the group is replaced"
	case g.Values == nil && len(at(group.Values, g.Rolls)) == 0:
		return false, group.Address + " has no " + strings.Split(g.Rolls, ".")[0] + ", so members that run are not replaced"
	case g.Values != nil && !slices.Contains(g.Values, textAt(group.Values, g.Rolls)):
		return false, group.Address + " has " + g.Rolls + " " + textAt(group.Values, g.Rolls) + ", so members that run are not replaced; " + strings.Join(g.Values, " or ") + " does"
	}
	return true, ""
}
