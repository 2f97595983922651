package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
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
		return nil, fmt.Errorf("there is no registration method %q: the control plane %s has none, since every node joins through the endpoint", name, cp.Name)
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
	return nil, fmt.Errorf("there is no registration method %q; it is one of %s", name, strings.Join(names, ", "))
}

// CheckHost returns why nothing on another machine can connect to a host.
func CheckHost(host string) error {
	if why := badHost(host); why != "" {
		return errors.New(why)
	}
	return nil
}

// exemptions are the requirements that the method does not ask for, and why.
func (r *Registration) exemptions() map[string]string {
	if r == nil {
		return nil
	}
	out := map[string]string{}
	for _, id := range r.Exempt {
		out[id] = "the registration method " + r.Name + " does not ask for it"
	}
	return out
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
	f := judge(r.Fits(out.Addresses), r.Requirement, contract.RoleMachine,
		fmt.Sprintf("the registration method %s needs %s on every control-plane machine, and a machine reports %s", r.Name, r.Needs, addressTypes(out.Addresses)),
		fmt.Sprintf("the registration method %s finds %s", r.Name, r.Needs))
	if want := p.cfg.Scenario.Stalls; f.status == StatusFailed && want != nil && want.Optional && want.Requirement == f.id {
		// Which methods a set supports is its choice. The scenario finds it out.
		f.status, f.reason = StatusNotApplicable, "the modules do not support this registration method: "+f.reason
		p.rec.note(contract.RoleMachine, p.cfg.Modules.Module(contract.RoleMachine).Outputs["addresses"],
			"nodes cannot join by the registration method %s: it needs %s on every control-plane machine, and a machine reports %s", r.Name, r.Needs, addressTypes(out.Addresses))
	}
	p.rec.add(f)
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

// judgeSpelling judges what the story itself shows of names and versions that
// are not spelled alike: a machine was applied with them (CP-050, CP-052).
func (p *play) judgeSpelling(in *contract.MachineInputs) {
	if in.Object.Name != in.MachineName {
		p.rec.pass("CP-052", contract.RoleMachine, "applied with captf_object.name unlike machine_name")
	}
	if v := in.KubernetesVersion; v != nil && strings.Contains(*v, "+") {
		p.rec.pass("CP-050", contract.RoleMachine, "applied with kubernetes_version "+*v)
	}
}

// judgeSupervisor judges that a machine joins the listener of the supervisor
// exactly when it is a control-plane machine (CP-031, CP-032).
func (p *play) judgeSupervisor(m *Membership, in *contract.MachineInputs, resources []Resource) {
	if !p.cp.supervises() || m == nil || m.Pattern == PatternNone || p.w.Balancer.Direct() {
		return
	}
	var joined, wanted []string
	for _, member := range m.Members {
		all := allJoinedBy(member, resources)
		for _, r := range all {
			if slices.Contains(listenersOf(member, r), balancer.ListenerSupervisor) {
				joined = append(joined, r.Address)
			}
		}
		if len(all) == 0 && member.Listener == balancer.ListenerSupervisor {
			wanted = append(wanted, member.Address)
		}
	}
	if !in.ControlPlane {
		if len(joined) > 0 {
			p.rec.fail("CP-031", contract.RoleMachine, "a worker joins the supervisor's backends: "+strings.Join(joined, ", "))
		}
		return
	}
	reason := "a control-plane machine does not join the supervisor listener through " + strings.Join(wanted, ", ")
	switch {
	case len(wanted) > 0:
	case m.Declared:
		reason = "captf-harness.json declares no attachment or selector of the supervisor listener, so nothing joins it"
	default:
		reason = "no attachment of a control-plane machine is to the supervisor listener"
	}
	p.rec.add(judge(len(joined) > 0 && len(wanted) == 0, "CP-032", contract.RoleMachine, reason, "joined the supervisor listener through "+strings.Join(joined, ", ")))
}
