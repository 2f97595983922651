package harness

import (
	"fmt"
	"strings"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
	"github.com/captf-toolkit/captf/sdk/harness/requirements"
)

// LoadBalancer is what the run took the load balancer behind the endpoint to be.
type LoadBalancer struct {
	// Pattern is A, B or C of control-planes.md 6, "" when it is unknown.
	Pattern Pattern `json:"pattern"`
	// Source is declared (captf-harness.json), recognised (known resource types),
	// user (the endpoint is the user's) or assumed (nothing tells).
	Source string `json:"source"`
	// Description says in a sentence what was played.
	Description string `json:"description"`
}

// The sources of a pattern.
const (
	patternDeclared   = "declared"
	patternRecognised = "recognised"
	patternUser       = "user"
	patternAssumed    = "assumed"
)

// newBalancer returns the balancer that the machine module joins.
func newBalancer(cfg Config, endpointByUser bool) *balancer.Balancer {
	b := balancer.New(cfg.Modules.Module(contract.RoleMachine).Membership)
	if endpointByUser {
		b.Bypass("the user gives the endpoint")
	}
	b.SetHairpin(!cfg.Scenario.HairpinOff)
	return b
}

// loadBalancer describes what was played.
func (p *play) loadBalancer() *LoadBalancer {
	b := p.w.Balancer
	out := &LoadBalancer{Pattern: b.Pattern(), Source: patternAssumed, Description: b.Describe()}
	switch m := p.membership(); {
	case p.endpointSource == contract.EndpointSourceUser:
		out.Source = patternUser
	case m != nil && m.Declared:
		out.Source = patternDeclared
	case m != nil:
		out.Source = patternRecognised
	}
	return out
}

// connects tells whether a node gets the connection that it needs to come up:
// the first to end its start, every other to join.
func (p *play) connects(m *Machine) balancer.Reach {
	if m.Init {
		return p.cp.finishInit(p.w, m)
	}
	return p.joins(m, m.Server)
}

// joins tells whether a control plane answers where a node's bootstrap data
// sends it: the API behind the endpoint when it names no server, else that
// server; m is nil for a member of the pool.
func (p *play) joins(m *Machine, server string) balancer.Reach {
	from := balancer.Management
	if m != nil {
		from = m.Name
	}
	if server == "" {
		return p.w.Reach(from, balancer.ListenerAPI)
	}
	if e := p.w.Cluster.Endpoint; e.Valid() && e.Host == server {
		return p.w.Reach(from, balancer.ListenerSupervisor)
	}
	// No balancer of the modules is in the way: the server is one machine, or the user's own.
	owner := p.serverOwner(server)
	switch {
	case owner != nil && !p.w.Balancer.Serves(owner.Name):
		return balancer.Reach{Why: fmt.Sprintf("%s, whose address %s its bootstrap data names, does not serve", owner.Name, server)}
	case p.w.Balancer.Serving() == 0:
		return balancer.Reach{Why: "no control-plane node serves yet"}
	}
	return balancer.Reach{OK: true}
}

// apiUp tells that the workload cluster's API answers the management cluster.
func (p *play) apiUp() bool {
	return p.w.Reach(balancer.Management, balancer.ListenerAPI).OK
}

// register makes a machine a backend of the listeners that its state shows it
// to have joined.
func (p *play) register(m *Machine, resources []Resource) {
	for _, member := range p.members(resources) {
		for _, r := range allJoinedBy(member, resources) {
			for _, l := range listenersOf(member, r) {
				if l == balancer.ListenerAPI || p.cp.supervises() {
					p.w.Balancer.Register(p.w.Now, m.Name, l)
				}
			}
		}
	}
	p.balance()
}

// listenersOf returns the listeners that a member is registered with.
func listenersOf(member Member, r Resource) []balancer.Listener {
	if member.Listener != "" {
		return []balancer.Listener{member.Listener}
	}
	return balancer.ListenersOf(r)
}

// serve opens the ports of a control-plane node.
func (p *play) serve(m *Machine) {
	p.w.Balancer.Serve(p.w.Now, m.Name)
	p.balance()
}

// stopServing closes the ports of a machine's node.
func (p *play) stopServing(m *Machine) {
	p.w.Balancer.Stop(p.w.Now, m.Name)
	p.balance()
}

// leave removes a machine from the balancer, as its destroy does.
func (p *play) leave(i *Infra) {
	if m := p.ownerOf(i); m != nil {
		p.w.Balancer.Deregister(m.Name)
		p.stopServing(m)
	}
}

// balance tells which backends turned, and looks again when the next one will.
func (p *play) balance() {
	b := p.w.Balancer
	for _, e := range b.News(p.w.Now) {
		p.tell(EventBackend, "balancer", "Machine/"+e.Machine, e.Text)
	}
	if at, ok := b.Next(p.w.Now); ok && at != p.balanceAt {
		p.balanceAt = at
		p.eng.After(at-p.w.Now, p.balance)
	}
}

// unreached notes that a node does not reach the control plane; the story says
// so once for each reason.
func (p *play) unreached(m *Machine, r balancer.Reach) {
	if m.stuck.Why != r.Why {
		p.tell(EventWaiting, "node", "Node/"+m.Name, "does not reach the control plane: "+r.Why)
	}
	m.stuck = r
}

// obstacle says why what waits at a gate does not come, if the balancer is why.
func (p *play) obstacle(subject any, g Gate) (r balancer.Reach, found bool) {
	if m, isMachine := subject.(*Machine); isMachine && m.stuck.Why != "" && g.ID == gateNodeRef.ID {
		return m.stuck, true
	}
	if g.Requirement != gateWorkloadReachable.Requirement {
		return balancer.Reach{}, false
	}
	r = p.w.Reach(balancer.Management, balancer.ListenerAPI)
	return r, !r.OK
}

// blameBalancer gives a stall the reason that the balancer has.
func (p *play) blameBalancer(s *Stall, r balancer.Reach) contract.Role {
	s.Message += ". " + strings.ToUpper(r.Why[:1]) + r.Why[1:]
	row, known := requirements.Get(r.Requirement)
	if !known {
		return ""
	}
	if p.unexported && (row.ID == "CP-030" || row.ID == "CP-032") {
		s.Requirement, s.Remedy, s.Output = "CP-070", remedyUnexported, string(contract.RoleCluster)+".exports"
		return contract.RoleCluster
	}
	s.Requirement, s.Remedy, s.Output = row.ID, row.Remedy, ""
	if row.Remedy == "" {
		s.Remedy = fmt.Sprintf("see %s: %s", row.ID, row.Title)
	}
	return row.Roles[0]
}

// apiTime is when the API server of the first node answers, of the time that
// the node takes in all.
func apiTime(total time.Duration) time.Duration {
	return (total / 2).Round(time.Second)
}

// roleOf returns the role whose module a requirement is about: the first that the set has.
func (p *play) roleOf(id string) contract.Role {
	row, _ := requirements.Get(id)
	role, _ := p.rec.roleOf(row)
	return role
}
