package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
)

// BootstrapOptions are how the user wants bootstrap data to be written.
type BootstrapOptions struct {
	// Format is cloud-config or ignition; "" is cloud-config.
	Format string
	// Gzip asks for data that is packed.
	Gzip bool
}

// FindRegistration returns the registration method with the given name, the
// default for "". The error names the methods that there are.
func (cp *ControlPlane) FindRegistration(name string) (*Registration, error) {
	if len(cp.Registrations) == 0 {
		if name == "" {
			return nil, nil //nolint:nilnil // a control plane without methods has no default
		}
		return nil, fmt.Errorf("choosing the registration method %q: the control plane %s has none: every node joins through the endpoint", name, cp.Name)
	}
	if name == "" {
		return &cp.Registrations[0], nil
	}
	var names []string
	for n := range cp.Registrations {
		if cp.Registrations[n].Name == name {
			return &cp.Registrations[n], nil
		}
		names = append(names, cp.Registrations[n].Name)
	}
	return nil, fmt.Errorf("choosing the registration method %q: it is one of %s", name, strings.Join(names, ", "))
}

// updateServers sets the hosts that joining nodes may register at, as the
// control plane's status tells them: those of Ready machines, none once no
// machine is Ready after initialisation.
func (p *play) updateServers() bool {
	r, status := p.w.Registration, &p.w.ControlPlane
	if r == nil {
		return false
	}
	ready := p.w.MachinesWhere(func(m *Machine) bool { return m.ControlPlane && !m.Deleting && m.Ready() })
	var servers []string
	switch {
	case len(ready) > 0:
		servers = r.Servers(p.w, ready)
	case !status.Initialized:
		return false
	}
	if slices.Equal(servers, status.Servers) {
		return false
	}
	status.Servers, p.serverBag = servers, nil
	event := "nodes may join at " + strings.Join(servers, ", ")
	if len(servers) == 0 {
		event = "no server to join at is left: nodes that have not joined wait"
	}
	p.tell(EventServers, p.cp.Name, p.controlPlaneRef(), event)
	return true
}

// server returns the host at which the next node shall join; "" for a control
// plane that tells none.
func (p *play) server() string {
	servers := p.w.ControlPlane.Servers
	if len(servers) == 0 {
		return ""
	}
	if !p.w.Registration.AnyOrder {
		return servers[0]
	}
	// The real order is another at each look. Here every host comes once before
	// one comes again, so that a story with enough joins tries them all.
	if len(p.serverBag) == 0 {
		p.serverBag = slices.Clone(servers)
		p.rng.Shuffle(len(p.serverBag), func(a, b int) { p.serverBag[a], p.serverBag[b] = p.serverBag[b], p.serverBag[a] })
	}
	first := p.serverBag[0]
	p.serverBag = p.serverBag[1:]
	return first
}

// serverOwner returns the control-plane machine whose address the host is; nil
// when it is that of none.
func (p *play) serverOwner(server string) *Machine {
	if server == "" {
		return nil
	}
	for _, m := range p.w.ControlPlaneMachines() {
		if m.Infra.Machine != nil && slices.ContainsFunc(m.Infra.Machine.Addresses, func(a contract.Address) bool { return a.Address == server }) {
			return m
		}
	}
	return nil
}

// judgeRegistration judges that nodes can join at a control-plane machine's
// addresses by the method that was chosen.
func (p *play) judgeRegistration(in *contract.MachineInputs, out *contract.MachineOutputs) {
	r := p.w.Registration
	if r == nil || r.Fits == nil || !in.ControlPlane || out.Addresses == nil {
		return
	}
	p.rec.add(judge(r.Fits(out.Addresses), r.Requirement, contract.RoleMachine,
		fmt.Sprintf("the registration method %s needs %s on every control-plane machine, and a machine reports %s", r.Name, r.Needs, addressTypes(out.Addresses)),
		fmt.Sprintf("the registration method %s finds %s", r.Name, r.Needs)))
}

// addressTypes lists the types of addresses.
func addressTypes(addresses []contract.Address) string {
	var types []string
	for _, a := range addresses {
		if !slices.Contains(types, string(a.Type)) {
			types = append(types, string(a.Type))
		}
	}
	if len(types) == 0 {
		return "no address"
	}
	return "only " + strings.Join(types, ", ")
}
