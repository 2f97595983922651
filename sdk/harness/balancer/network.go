package balancer

import (
	"fmt"
	"slices"
	"strings"
)

// Port is one port that a distribution needs to be open (control-planes.md 4).
type Port struct {
	Port     int
	Protocol string
	// Use says who connects to whom, such as etcd between control-plane nodes.
	Use string
}

// String returns the port as 2379/tcp (etcd).
func (p Port) String() string { return fmt.Sprintf("%d/%s (%s)", p.Port, p.Protocol, p.Use) }

// Needed is a port that a control plane needs, and the requirement that asks for it.
type Needed struct {
	Port
	Requirement string
}

// rule is one rule about incoming connections, as a resource shows it.
type rule struct {
	group    string
	deny     bool
	priority int
	protocol string // lower case; "" is all
	ports    []portRange
	lax      bool // its cloud allows connections between nodes unless a rule refuses them
}

// Firewalls are the recognised rules of a state or plan.
type Firewalls struct {
	rules []rule
	// Addresses are the resources that hold them.
	Addresses []string
}

// FirewallsOf reads the rules of all recognised resources. Rules of groups that
// guard a balancer are left out: they are about its clients.
func FirewallsOf(resources ...[]Resource) Firewalls {
	all := slices.Concat(resources...)
	guards := map[string]bool{}
	for _, r := range all {
		if t := TypeOf(r.Type); t != nil && t.Frontend != nil {
			for _, path := range t.Frontend.Groups {
				for _, v := range at(r.Values, path) {
					guards[text(v)] = true
				}
			}
		}
	}
	var f Firewalls
	for _, r := range all {
		t := TypeOf(r.Type)
		if t == nil || t.Firewall == nil {
			continue
		}
		if found := rulesOf(r, t.Firewall); len(found) > 0 && !guards[found[0].group] {
			f.rules = append(f.rules, found...)
			f.Addresses = append(f.Addresses, r.Address)
		}
	}
	slices.SortStableFunc(f.rules, func(a, b rule) int { return a.priority - b.priority })
	return f
}

// Known tells that there are rules that are known.
func (f Firewalls) Known() bool { return len(f.rules) > 0 }

func rulesOf(r Resource, fw *Firewall) []rule {
	entries := []any{r.Values}
	if fw.Rules != "" {
		entries = at(r.Values, fw.Rules)
	}
	path := func(entry any, p string) (any, string) {
		if from, fromResource := strings.CutPrefix(p, "^"); fromResource {
			return r.Values, from
		}
		return entry, p
	}
	first := func(entry any, p string) string { return textAt(path(entry, p)) }
	var out []rule
	for _, e := range entries {
		if fw.Direction != "" && !slices.ContainsFunc(fw.Ingress, func(in string) bool { return strings.EqualFold(in, first(e, fw.Direction)) }) {
			continue
		}
		one := rule{group: textAt(r.Values, fw.Group), protocol: protocolOf(first(e, fw.Protocol)), lax: fw.AllowedByDefault}
		one.deny = slices.Contains(fw.Deny, first(e, fw.Access))
		one.priority, _ = intAt(e, fw.Priority)
		body := e
		for _, name := range sortedNames(fw.Blocks) {
			if blocks := at(e, name); len(blocks) > 0 {
				body, one.protocol = blocks[0], fw.Blocks[name]
			}
		}
		one.ports = rangesOf(body, fw)
		out = append(out, one)
	}
	return out
}

// rangesOf returns the ports of a rule; one that names none is about all of them.
func rangesOf(entry any, fw *Firewall) []portRange {
	from, hasFrom := intAt(entry, fw.From)
	to, hasTo := intAt(entry, fw.To)
	switch {
	case hasFrom && from == -1, hasFrom && hasTo && from == 0 && to == 0:
		return []portRange{everyPort}
	case hasFrom && hasTo:
		return []portRange{{from, to}}
	case hasFrom:
		return []portRange{{from, from}}
	}
	var out []portRange
	for _, path := range fw.Ranges {
		for _, v := range at(entry, path) {
			if r, ok := portRanges(text(v)); ok {
				out = append(out, r)
			}
		}
	}
	if len(out) == 0 {
		return []portRange{everyPort}
	}
	return out
}

// protocolOf returns a protocol as tcp or udp, "" for all; clouds write names and numbers.
func protocolOf(s string) string {
	s = strings.ToLower(s)
	switch s {
	case "-1", "all", "*", "any", "0":
		return ""
	case "6":
		return "tcp"
	case "17":
		return "udp"
	}
	return s
}

// Open tells that some group of rules lets a port through. From where is not
// judged: sources are ids that mean something to the cloud only.
func (f Firewalls) Open(p Port) bool {
	decided := map[string]bool{}
	for _, r := range f.rules {
		if decided[r.group] || r.protocol != "" && r.protocol != p.Protocol || !slices.ContainsFunc(r.ports, func(x portRange) bool { return x.holds(p.Port) }) {
			continue
		}
		if !r.deny {
			return true
		}
		decided[r.group] = true
	}
	// A group that says nothing about the port leaves it to its cloud.
	return slices.ContainsFunc(f.rules, func(r rule) bool { return r.lax && !decided[r.group] })
}
