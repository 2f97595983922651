package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// apiPort is where API servers listen unless the Cluster asks for another port.
const apiPort = 6443

// supervisorPort is where supervisors listen, behind the same host as the API
// (control-planes.md 4).
const supervisorPort = 9345

// probedAPIPort is the api_server_port of the probe of ports.
const probedAPIPort = 7443

// observePorts judges frontends, backends and firewalls once the first
// control-plane machine exists (CP-015 to CP-017, CP-022, CP-058).
func (p *play) observePorts(in *contract.MachineInputs, run *Run) {
	if !in.ControlPlane || p.portsJudged || p.w.Infra.Run == nil {
		return
	}
	p.portsJudged = true
	cluster := p.w.Infra.Run.Resources
	p.judgeFirewalls(balancer.FirewallsOf(cluster, run.Resources))
	if p.endpointSource == contract.EndpointSourceUser || p.infraEndpoint == nil {
		return
	}
	for _, f := range judgePorts(p.cp, balancer.PortsOf(cluster, run.Resources), int(p.infraEndpoint.Port), p.cp.APIPort(p.askedAPIPort())) {
		p.rec.add(f)
	}
	for _, f := range judgeBackends(p.cp, balancer.BackendsOf(cluster, run.Resources), int(p.infraEndpoint.Port), p.cp.APIPort(p.askedAPIPort())) {
		p.rec.add(f)
	}
}

// judgeBackends judges where each attachment leads that is behind the endpoint's
// port: that some backend is on the right port does not help the others. One
// behind the supervisor's port that leads elsewhere joins no supervisor (CP-032).
func judgeBackends(cp *ControlPlane, backends []balancer.Backend, endpoint, api int) []finding {
	id := "CP-015"
	if cp.supervises() {
		id = "CP-017"
	}
	var fs []finding
	for _, b := range backends {
		shared := cp.supervises() && slices.Contains(b.Fronts, supervisorPort) && b.Port == supervisorPort
		if !slices.Contains(b.Fronts, endpoint) || b.Port == api || shared {
			continue
		}
		f := finding{
			id: id, role: contract.RoleMachine, status: StatusFailed,
			reason: fmt.Sprintf("%s leads from the endpoint's port %d to port %d, and API servers listen on %d", b.Address, endpoint, b.Port, api),
		}
		if b.Own {
			f.reason += ": its own port overrides that of its pool"
			f.remedy = "give the attachment the backend port that the cluster module exports, or no port of its own"
		}
		fs = append(fs, f)
	}
	return fs
}

// askedAPIPort is the port that the story's Cluster asks API servers to listen on;
// nil when it asks for none.
func (p *play) askedAPIPort() *int64 {
	if in, ok := p.w.Infra.Inputs.(*contract.ClusterInputs); ok && in.ClusterNetwork != nil {
		return in.ClusterNetwork.APIServerPort
	}
	return nil
}

// listening is one listener that a control plane needs.
type listening struct {
	id          string
	front, back int
	what        string
}

// judgePorts judges what listens and where it leads. endpoint is the endpoint's
// port, 0 when it is not known; api the port that API servers listen on.
func judgePorts(cp *ControlPlane, ports balancer.Ports, endpoint, api int) []finding {
	if !ports.Known() {
		return nil
	}
	wanted := []listening{{"CP-015", endpoint, api, "the endpoint's port"}}
	if cp.supervises() {
		wanted = []listening{{"CP-016", supervisorPort, supervisorPort, "the supervisor's port"}, {"CP-017", endpoint, api, "the endpoint's port"}}
	}
	var fs []finding
	for _, w := range wanted {
		_, listens := ports.Front[w.front]
		_, leads := ports.Back[w.back]
		f := finding{id: w.id, role: contract.RoleCluster, status: StatusFailed}
		switch {
		case w.front != 0 && !listens:
			f.reason = fmt.Sprintf("nothing listens on %s %d: frontends are on %v", w.what, w.front, ports.Fronts())
		case !ports.Reaches():
			continue // backends are of unknown types
		case !leads:
			f.reason = fmt.Sprintf("no backend is on port %d, where the control plane's nodes listen behind %s: backends are on %v", w.back, w.what, ports.Backs())
		default:
			f.status, f.evidence = StatusPassed, []string{fmt.Sprintf("frontends on %v, backends on %v", ports.Fronts(), ports.Backs())}
		}
		fs = append(fs, f)
	}
	return fs
}

// judgeFirewalls judges that rules of known types let through what the
// distribution needs.
func (p *play) judgeFirewalls(fw balancer.Firewalls) {
	if !fw.Known() {
		return
	}
	closed, open := map[string][]balancer.Port{}, map[string][]balancer.Port{}
	for _, port := range p.cp.Ports {
		if port.Port.Port == apiPort {
			port.Port.Port = p.cp.APIPort(p.askedAPIPort())
		}
		to := open
		if !fw.Open(port.Port) {
			to = closed
		}
		to[port.Requirement] = append(to[port.Requirement], port.Port)
	}
	for _, id := range slices.Sorted(maps.Keys(open)) {
		p.rec.pass(id, p.roleOf(id), fmt.Sprintf("rules let through %v", open[id]))
	}
	for _, id := range slices.Sorted(maps.Keys(closed)) {
		p.rec.fail(id, p.roleOf(id), fmt.Sprintf("no rule lets through %v; %d resources hold rules of known types", closed[id], len(fw.Addresses)), fw.Addresses...)
	}
}

// probePorts plans a cluster whose API servers listen on another port than
// usual (CP-015, CP-017). It runs only where the frontends' types are known.
func (p *play) probePorts(in contract.ClusterInputs, frontends bool) {
	if !frontends || p.endpointSource == contract.EndpointSourceUser {
		return
	}
	machine := p.cfg.Modules.Module(contract.RoleMachine)
	version := p.cp.Version
	var join *contract.MachineInputs
	if machine.Membership != nil {
		join = &contract.MachineInputs{
			CommonInputs: p.common(p.probeName("port")), MachineName: p.probeName("port-machine"),
			Bootstrap:         contract.Bootstrap{Data: []byte("#cloud-config\n"), Format: "cloud-config"},
			KubernetesVersion: &version, ControlPlane: true,
		}
	}
	p.probe(fmt.Sprintf("api_server_port %d", probedAPIPort), contract.RoleCluster, func(d *drill) { d.ports(in, join) })
}

// ports plans the cluster, and where its backends' ports are with the machines,
// a machine of it too.
func (d *drill) ports(in contract.ClusterInputs, join *contract.MachineInputs) {
	in.Object.Name = d.p.probeName("port")
	network := *in.ClusterNetwork
	port := int64(probedAPIPort)
	network.APIServerPort = &port
	in.ClusterNetwork = &network
	id := "CP-015"
	if d.p.cp.supervises() {
		id = "CP-017"
	}
	run := d.values(in.Object.Name, &in)
	if !d.must(run, id, fmt.Sprintf("the plan with api_server_port %d", probedAPIPort)) {
		return
	}
	planned := plannedResources(run.Planned)
	back := d.p.cp.APIPort(&port)
	if _, leads := balancer.PortsOf(planned).Back[back]; !leads && join != nil {
		// Attachments may have the port, or one that overrides their pool's.
		planned = append(planned, d.portsOfMachine(in, join, id)...)
	}
	ports := balancer.PortsOf(planned)
	if !ports.Reaches() {
		return
	}
	_, leads := ports.Back[back]
	d.add(judge(leads, id, d.role,
		fmt.Sprintf("with api_server_port %d no backend is on port %d, where the API servers listen then: backends are on %v", probedAPIPort, back, ports.Backs()),
		fmt.Sprintf("with api_server_port %d backends are on %v", probedAPIPort, ports.Backs())))
}

// portsOfMachine applies the cluster and plans a machine with what it exports.
func (d *drill) portsOfMachine(in contract.ClusterInputs, join *contract.MachineInputs, id string) []Resource {
	run := d.run(OpApply, in.Object.Name, &in)
	if !d.must(run, id, fmt.Sprintf("the apply with api_server_port %d", probedAPIPort)) {
		return nil
	}
	out, _ := d.p.cfg.Definition.DecodeCluster(run.Values)
	join.ClusterOutputs = out.Exports
	d.role = contract.RoleMachine
	planned := d.values(join.Object.Name, join)
	d.role = contract.RoleCluster
	d.must(d.run(OpDestroy, in.Object.Name, &in), "CP-025", "destroy after it")
	if planned == nil || planned.Failed {
		return nil // the machine's own drills say so
	}
	return plannedResources(planned.Planned)
}

// plannedResources returns the resources of a plan's content.
func plannedResources(content json.RawMessage) []Resource {
	var planned map[string]struct {
		Values map[string]any `json:"values"`
	}
	if json.Unmarshal(content, &planned) != nil {
		return nil // a runner's own content is an object
	}
	var out []Resource
	for _, address := range slices.Sorted(maps.Keys(planned)) {
		out = append(out, Resource{Address: address, Type: balancer.TypeIn(address), Values: planned[address].Values})
	}
	return out
}
