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

// Backend is one attachment, with where it sends what it is sent.
type Backend struct {
	// Address is that of the attachment.
	Address string
	// Port is the port that it leads to: its own, which overrides its pool's, or
	// else its pool's.
	Port int
	// Own tells that the port is the attachment's.
	Own bool
	// Fronts are the ports of the listeners that lead to its pool.
	Fronts []int
}

// BackendsOf returns the attachments among a machine's resources of which both
// the port and the listeners, among the cluster's resources, are known.
func BackendsOf(cluster, machine []Resource) []Backend {
	var out []Backend
	for _, r := range Attachments(machine) {
		_, pool := PoolOf(r)
		if pool == "" {
			continue
		}
		b := Backend{Address: r.Address, Fronts: frontsOf(pool, cluster)}
		b.Port, b.Own = intAt(r.Values, TypeOf(r.Type).Attachment.Port)
		if b.Own = b.Own && b.Port > 0; !b.Own {
			b.Port = portOfPool(pool, cluster)
		}
		if b.Port > 0 && len(b.Fronts) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// portOfPool returns the one port of the pool with an id; 0 when it is not known.
func portOfPool(id string, cluster []Resource) int {
	for _, r := range having(cluster, func(t *Type) bool { return t.Pool != nil }) {
		if ports := portsAt(r.Values, TypeOf(r.Type).Pool.Ports); textAt(r.Values, "id") == id && len(ports) == 1 {
			return ports[0]
		}
	}
	return 0
}

// frontsOf returns the ports of the listeners that lead to the pool with an id.
func frontsOf(id string, cluster []Resource) []int {
	named := map[string]bool{}
	for _, r := range having(cluster, func(t *Type) bool { return t.Pool != nil && t.Pool.Listener != "" }) {
		if listener := textAt(r.Values, TypeOf(r.Type).Pool.Listener); listener != "" && textAt(r.Values, "id") == id {
			named[listener] = true
		}
	}
	var out []int
	for _, r := range having(cluster, func(t *Type) bool { return t.Listener != nil }) {
		l := TypeOf(r.Type).Listener
		leads := named[textAt(r.Values, "id")]
		for _, path := range l.Pools {
			leads = leads || slices.ContainsFunc(at(r.Values, path), func(v any) bool { return text(v) == id })
		}
		if leads {
			out = append(out, portsAt(r.Values, l.Ports)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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
