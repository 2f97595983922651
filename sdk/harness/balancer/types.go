package balancer

import (
	"slices"
	"strings"
)

// Type is what is known of one resource type that has to do with balancers,
// networks or the instances behind them. A type may have several parts, as a
// classic balancer that is a frontend with listeners, a health check and a list
// of members at once.
//
// Attributes are given as paths such as health_check.interval. A path leads
// through every element of a list or map on its way; where nested blocks are
// lists of one, that one is meant.
type Type struct {
	// Name is the resource type, such as aws_lb_listener.
	Name string
	// Cloud is the provider's source address, without a host.
	Cloud string
	// Source is where the row comes from: the type's page in the provider's
	// documentation, and modules.md where a reference set uses the type.
	Source string

	// Frontend: it has the address that clients connect to.
	Frontend *Frontend
	// Listener: it takes connections on a port.
	Listener *Listening
	// Pool: it is a set of backends, with the port of the backends if it has one.
	Pool *Pool
	// Attachment: it makes one instance a member of a pool (pattern A).
	Attachment *Attachment
	// Selector: its attribute makes an instance a member (pattern B).
	Selector *Selector
	// Selects is the path of the attribute by which a balancer selects instances; "" where it does not.
	Selects string
	// Members are the paths of attributes that hold the complete list of members.
	Members []string
	// Health: it is, or holds, a health check.
	Health *HealthCheck
	// Firewall: it is, or holds, rules about which connections are allowed.
	Firewall *Firewall
	// Instance: it is one virtual machine, or the network card of one.
	Instance bool
	// Placement is the path of the attribute that says in which zone an instance
	// is; "" where zones have other names than failure domains, as numbers.
	Placement string
	// Launches: it says what a group launches.
	Launches bool
	// Group: it launches instances by itself.
	Group *Group
	// Waits: creating it waits for something outside it, and no cloud resource is made.
	Waits bool
}

// Frontend is the part of a type that has an address.
type Frontend struct {
	// Groups are the paths of the security groups that guard the balancer itself:
	// rules in these are not about nodes.
	Groups []string
	// Hairpin says when a backend does not reach itself through it; nil: it does, or nothing is known.
	Hairpin *NoHairpin
}

// NoHairpin are attribute values with which a backend does not reach itself (CP-020).
type NoHairpin struct {
	// Path is the attribute, and Values those that prevent it.
	Path   string
	Values []string
	// Why says what the balancer does then.
	Why string
}

// Listening is the part of a type that takes connections.
type Listening struct {
	// Ports are the paths of the frontend ports: numbers, or texts such as 6443-6443.
	Ports []string
	// Targets are the paths of the backend ports, where the type holds them itself.
	Targets []string
	// Pools are the paths of the references to the pools that it leads to; none
	// where that is not known, or the reference is no id.
	Pools []string
}

// Pool is the part of a type that is a set of backends.
type Pool struct {
	// Ports are the paths of the backend ports; none where each member has its own.
	Ports []string
	// Listener is the path of the reference to the listener that leads to it; ""
	// where listeners name their pools.
	Listener string
	// NoHairpin says when a backend does not reach itself; nil where nothing is known.
	NoHairpin *NoHairpin
}

// Attachment is the part of a type that registers one instance.
type Attachment struct {
	// Port is the path of the backend port; "" where the pool has it.
	Port string
	// Pool is the path of the reference to the pool.
	Pool string
	// Target is the path of the reference to the instance or its address, and
	// Otherwise those of other ways to name it.
	Target    string
	Otherwise []string
	// Before tells that the members of this cloud are registered before the
	// server boots, so that destroy cannot take them away first (harness.md H19).
	Before bool
}

// Selector is the part of an instance that makes it a member.
type Selector struct {
	// Path is the attribute that holds what is selected by.
	Path string
}

// HealthCheck is the part of a type that is a health check. Durations are in seconds.
type HealthCheck struct {
	Interval, Timeout, Healthy, Unhealthy string // paths
	// Defaults are the provider's or the cloud's, for what is not set; 0 is unknown.
	DefaultInterval, DefaultHealthy, DefaultUnhealthy int
	// Milliseconds tells that the interval is in milliseconds.
	Milliseconds bool
	// Protocol is the path of the protocol, or Protocols are the blocks that each stand for one.
	Protocol  string
	Protocols map[string]string
	// Port, Path and Codes are the paths of the checked port, the HTTP path and the expected codes.
	Port, Path, Codes string
	// Own tells that a port that is not set, or not a number, is that of the pool it is in.
	Own string
}

// Firewall is the part of a type that is rules.
type Firewall struct {
	// Rules is the path of the list of rules; "" where the resource is one rule.
	Rules string
	// Group is the path of the group that the rule is in, from the resource.
	Group string
	// The rest are paths from the rule, those with a leading ^ from the resource.
	// Ingress are the values of Direction that mean incoming; without a Direction
	// every rule is.
	Direction string
	Ingress   []string
	// Access and Deny are the path and the values that refuse; without them every rule allows.
	Access string
	Deny   []string
	// Priority is the path of the number by which rules are tried, the lowest first.
	Priority string
	// Protocol is the path of the protocol: a name, a number, or one of All.
	Protocol string
	// Blocks are the blocks that each stand for one protocol, instead of Protocol.
	Blocks map[string]string
	// From and To are the paths of the port range, or Ranges those of texts such
	// as 2379-2380. A rule without ports is about all of them.
	From, To string
	Ranges   []string
	// AllowedByDefault tells that nodes of one network reach each other unless a rule refuses.
	AllowedByDefault bool
}

// Group is the part of a type that launches instances.
type Group struct {
	// Rolls is the path of the attribute that makes the group replace its members
	// when it changes, and Values are those that do; nil: any that is set.
	Rolls  string
	Values []string
	// Never tells that the group only rolls by being replaced.
	Never bool
}

// Types returns every known type, by name.
func Types() []Type {
	all := slices.Concat(amazon, google, azure, oracle, openstack, others)
	slices.SortFunc(all, func(a, b Type) int { return strings.Compare(a.Name, b.Name) })
	return all
}

var byName = func() map[string]*Type {
	m := map[string]*Type{}
	all := Types()
	for n := range all {
		m[all[n].Name] = &all[n]
	}
	return m
}()

// TypeOf returns what is known of a resource type; nil when nothing is.
func TypeOf(name string) *Type { return byName[name] }

// Attaches tells that a resource type registers one instance with a balancer,
// in the state of the machine (control-planes.md 6, pattern A).
func Attaches(name string) bool {
	t := TypeOf(name)
	return t != nil && t.Attachment != nil
}

// MakesEndpoint tells that a resource type is, or is a frontend of, a balancer
// (harness.md H10).
func MakesEndpoint(name string) bool {
	t := TypeOf(name)
	return t != nil && (t.Frontend != nil || t.Listener != nil)
}

// doc is the source of a row.
func doc(cloud, resource string, more ...string) string {
	return strings.Join(append([]string{"provider " + cloud + ", resource " + resource}, more...), "; ")
}
