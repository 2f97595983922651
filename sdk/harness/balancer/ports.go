package balancer

import (
	"slices"
	"strings"
)

// Ports are the ports that recognised resources take connections on and send
// them to.
type Ports struct {
	// Front are the frontend ports with the addresses of what takes them.
	Front map[int][]string
	// Back are the ports of backends, of pools and of attachments.
	Back map[int][]string
}

// Known tells that a frontend was recognised; Reaches that backends were.
func (p Ports) Known() bool { return len(p.Front) > 0 }

// Reaches tells that the port of a backend was recognised.
func (p Ports) Reaches() bool { return len(p.Back) > 0 }

// PortsOf reads the ports of all recognised resources, of one or more states or plans.
func PortsOf(resources ...[]Resource) Ports {
	p := Ports{Front: map[int][]string{}, Back: map[int][]string{}}
	add := func(to map[int][]string, ports []int, address string) {
		for _, port := range ports {
			if !slices.Contains(to[port], address) {
				to[port] = append(to[port], address)
			}
		}
	}
	for _, r := range slices.Concat(resources...) {
		t := TypeOf(r.Type)
		if t == nil {
			continue
		}
		if t.Listener != nil {
			add(p.Front, portsAt(r.Values, t.Listener.Ports), r.Address)
			add(p.Back, portsAt(r.Values, t.Listener.Targets), r.Address)
		}
		if t.Pool != nil {
			add(p.Back, portsAt(r.Values, t.Pool.Ports), r.Address)
		}
		if t.Attachment != nil && t.Attachment.Port != "" {
			add(p.Back, portsAt(r.Values, []string{t.Attachment.Port}), r.Address)
		}
	}
	return p
}

// Fronts and Backs return the ports, sorted.
func (p Ports) Fronts() []int { return sortedKeys(p.Front) }

// Backs returns the ports of backends, sorted.
func (p Ports) Backs() []int { return sortedKeys(p.Back) }

func sortedKeys(m map[int][]string) []int {
	var out []int
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// supervisorPort is the port of RKE2's supervisor (control-planes.md 4).
const supervisorPort = 9345

// ListenersOf returns the listeners that a recognised attachment is registered
// with: by its port, else by the instance key it was made under, else all of
// them, as where one pool serves every port.
func ListenersOf(r Resource) []Listener {
	t := TypeOf(r.Type)
	if t != nil && t.Attachment != nil && t.Attachment.Port != "" {
		if port, ok := intAt(r.Values, t.Attachment.Port); ok && port > 0 {
			if port == supervisorPort {
				return []Listener{ListenerSupervisor}
			}
			return []Listener{ListenerAPI}
		}
	}
	name := strings.ToLower(r.Address[strings.LastIndex(r.Address, ".")+1:])
	if strings.Contains(name, "supervisor") || strings.Contains(name, "9345") {
		return []Listener{ListenerSupervisor}
	}
	if strings.Contains(name, "apiserver") {
		return []Listener{ListenerAPI}
	}
	return []Listener{ListenerAPI, ListenerSupervisor}
}

// Hairpin returns the resource because of which a backend does not reach itself,
// and why; ok is false when none is known.
func Hairpin(resources []Resource) (address, why string, ok bool) {
	for _, r := range resources {
		t := TypeOf(r.Type)
		if t == nil || t.Pool == nil || t.Pool.NoHairpin == nil {
			continue
		}
		if h := t.Pool.NoHairpin; slices.Contains(h.Values, textAt(r.Values, h.Path)) {
			return r.Address, h.Why, true
		}
	}
	return "", "", false
}
