package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// checkModules judges what can be known before anything runs: every contract
// input must be declared, since the generated root passes it.
func (p *play) checkModules() {
	for _, role := range p.cfg.Modules.Roles() {
		info := p.cfg.Modules.Module(role)
		p.noteStateBlocks(info)
		p.noteIgnoredVersions(info)
		for _, in := range p.cfg.Definition.Spec(role).Inputs {
			if _, ok := info.Variables[in.Name]; ok {
				continue
			}
			p.rec.fail(idContract+in.Name, role, fmt.Sprintf("the %s module in %s declares no variable %q, which the generated root passes", role, info.Dir, in.Name))
			p.stopped = true
		}
	}
}

// invalidRows say which requirement a contract violation of an output breaks;
// the first row that fits counts (harness.md H2, H7, H8).
var invalidRows = []struct {
	output string
	reason contract.Reason
	fits   func(v contract.Violation) bool
	id     string
}{
	{"control_plane_endpoint", contract.ReasonInvalid, func(v contract.Violation) bool {
		half := v.Rule == contract.RuleNull || v.Rule == contract.RuleRequired || v.Rule == contract.RuleMinLength
		return half && (strings.HasSuffix(v.Path, ".host") || strings.HasSuffix(v.Path, ".port"))
	}, "CP-004"},
	{"failure_domains", contract.ReasonInvalid, func(v contract.Violation) bool { return v.Rule == "unique" }, "CP-014"},
	{"exports", contract.ReasonInvalid, nil, "CP-012"},
	{"addresses", contract.ReasonInvalid, func(v contract.Violation) bool { return v.Rule == contract.RuleEnum }, "CP-042"},
	{"failure_domain", contract.ReasonFailureDomainMismatch, nil, "CP-045"},
	{"provider_id", contract.ReasonProviderIDChanged, nil, "CP-040"},
}

func requirementOf(v contract.Violation) string {
	for _, row := range invalidRows {
		if row.output == outputOf(v.Path) && row.reason == v.Reason && (row.fits == nil || row.fits(v)) {
			return row.id
		}
	}
	return idContract + outputOf(v.Path)
}

// outputsInvalid ends the story: an object with outputs outside the contract
// is never provisioned.
func (p *play) outputsInvalid(i *Infra, vs contract.Violations) {
	info := p.cfg.Modules.Module(i.Role)
	for _, v := range vs {
		place := info.Dir
		if at, ok := info.Outputs[outputOf(v.Path)]; ok {
			place = at
		}
		p.rec.fail(requirementOf(v), i.Role, fmt.Sprintf("%s: %s", v.Path, v.Message), place)
	}
	first := vs[0]
	p.stop(&Stall{
		Gate: gateOutputsValid, WaitsFor: "outputs of the module that satisfy the contract (OutputsValid)",
		Object: i.Ref(), Output: string(i.Role) + "." + outputOf(first.Path), Requirement: requirementOf(first),
		Message: fmt.Sprintf("%s is never provisioned: %s", i.Ref(), first.Message),
	})
}

// observe judges what a successful run of the story shows.
func (p *play) observe(i *Infra, op Op, in contract.Inputs, run *Run) {
	switch typed := in.(type) {
	case *contract.ClusterInputs:
		p.observeCluster(i, op, typed, run)
	case *contract.MachineInputs:
		p.observeMachine(i, op, typed, run)
	case *contract.PoolInputs:
		p.observePool(i, op, run)
	}
}

func (p *play) observeCluster(i *Infra, op Op, in *contract.ClusterInputs, run *Run) {
	out, role := i.Cluster, contract.RoleCluster
	if in.ControlPlaneEndpoint != nil {
		p.rec.add(judgeEcho(in.ControlPlaneEndpoint, out.ControlPlaneEndpoint))
	} else if out.ControlPlaneEndpoint.Valid() && out.Health.State != contract.HealthPending {
		p.rec.pass("CP-001", role, fmt.Sprintf("control_plane_endpoint is %s after the %s", endpointText(out.ControlPlaneEndpoint), op))
	}
	p.rec.pass("CP-004", role)
	if in.ControlPlaneEndpoint == nil && out.ControlPlaneEndpoint.Valid() {
		p.rec.add(judgeHost(out.ControlPlaneEndpoint))
	}
	p.observeBalancer(in, run)
	if op != OpApply {
		return
	}
	if out.Health.State != contract.HealthPending && len(p.w.Machines) == 0 {
		p.judgeFirstHealth(i)
	}
	if !in.ControlPlaneInitialized {
		p.rec.pass("CP-007", role, "the apply with control_plane_initialized false succeeds")
	} else {
		p.rec.add(judgeChanges("CP-009", role, run, "the apply with control_plane_initialized true", ActionDelete, ActionReplace))
	}
	p.judgeStable(i)
	p.rec.add(judgeDomains(out.FailureDomains))
	p.rec.pass("CP-014", role)
	p.rec.add(judgeSecrets(out.Exports))
	p.noteExports(out)
	p.judgeExportReads(out.Exports)
	if !p.probing && p.cfg.Scenario.Probes {
		p.probing = true
		p.probeCluster(*in)
		p.probePorts(*in, balancer.PortsOf(run.Resources).Known())
	}
}

// judgeStable compares endpoint and exports with those of the first apply.
func (p *play) judgeStable(i *Infra) {
	out := i.Cluster
	if p.first == nil {
		p.first = out
		return
	}
	p.rec.add(judgeEndpoint(p.first.ControlPlaneEndpoint, out.ControlPlaneEndpoint, "the re-apply at initialisation"))
	p.rec.add(judgeExports(p.first.Exports, out.Exports, "the re-apply at initialisation"))
	p.rec.add(judgeDomainNames(p.first.FailureDomains, out.FailureDomains, "the re-apply at initialisation"))
}

func judgeEndpoint(before, after *contract.Endpoint, by string) finding {
	return judge(endpointText(before) == endpointText(after), "CP-003", contract.RoleCluster,
		fmt.Sprintf("%s changes the endpoint from %s to %s", by, endpointText(before), endpointText(after)),
		"after "+by+": "+endpointText(after))
}

func judgeExports(before, after json.RawMessage, by string) finding {
	return judge(bytes.Equal(before, after), "CP-011", contract.RoleCluster,
		fmt.Sprintf("%s changes exports at %s", by, strings.Join(differingPaths(before, after), ", ")),
		"exports are unchanged after "+by)
}

// judgeEcho judges an endpoint output where the user provides the endpoint.
func judgeEcho(given, out *contract.Endpoint) finding {
	return judge(out == nil || *out == *given, "CP-002", contract.RoleCluster,
		fmt.Sprintf("the input control_plane_endpoint is %s, yet the output is %s", endpointText(given), endpointText(out)),
		"given "+endpointText(given)+", output "+endpointText(out))
}

// judgeChanges fails when a run plans one of the forbidden actions.
func judgeChanges(id string, role contract.Role, run *Run, what string, forbidden ...Action) finding {
	var bad []string
	for _, c := range run.Changes {
		if slices.Contains(forbidden, c.Action) {
			bad = append(bad, fmt.Sprintf("%s: %s", c.Address, c.Action))
		}
	}
	return judge(len(bad) == 0, id, role, what+" plans "+strings.Join(bad, ", "), what+" deletes and replaces nothing")
}

// judgeEmpty fails when a plan changes anything.
func judgeEmpty(id string, role contract.Role, run *Run, what string) finding {
	var bad []string
	for _, c := range run.Changes {
		bad = append(bad, fmt.Sprintf("%s: %s", c.Address, c.Action))
	}
	if len(bad) == 0 && run.OutputsChanged {
		bad = append(bad, "outputs change")
	}
	return judge(len(bad) == 0, id, role, what+" is not empty: "+strings.Join(bad, ", "), what+" is empty")
}

func judgeDomains(domains []contract.FailureDomain) finding {
	usable := 0
	for _, d := range domains {
		if d.ControlPlane {
			usable++
		}
	}
	return judge(len(domains) == 0 || usable > 0, "CP-013", contract.RoleCluster,
		"none of the failure domains has control_plane true, so control-plane machines get none",
		fmt.Sprintf("%d failure domains, %d for control planes", len(domains), usable))
}

// judgeSecrets looks for names of secrets in exports; values are never shown.
func judgeSecrets(exports json.RawMessage) finding {
	var found, doubtful []string
	walkJSON(exports, func(path []string, value any) {
		if s, isText := value.(string); !isText || s == "" || len(path) == 0 {
			return
		}
		switch name := path[len(path)-1]; {
		case contract.SecretName(name):
			found = append(found, strings.Join(path, "."))
		case contract.MaybeSecretName(name):
			doubtful = append(doubtful, strings.Join(path, "."))
		}
	})
	if len(found) == 0 && len(doubtful) > 0 {
		return finding{id: "CP-012", role: contract.RoleCluster, status: StatusManual,
			reason: "does " + strings.Join(doubtful, ", ") + " hold a secret, rather than the name or id of one? exports are published in status"}
	}
	return judge(len(found) == 0, "CP-012", contract.RoleCluster,
		"exports hold what looks like a secret: "+strings.Join(found, ", "), "no name of a secret and no fraction in exports")
}

// judgeExportReads compares what the other modules read with what was exported (CP-070).
func (p *play) judgeExportReads(exports json.RawMessage) {
	for _, role := range p.cfg.Modules.Roles() {
		reads := p.cfg.Modules.Module(role).ExportReads
		ok := true
		for _, r := range reads {
			if r.Optional || hasPath(exports, r.Path) {
				continue
			}
			ok = false
			p.rec.fail("CP-070", role, fmt.Sprintf("the %s module reads captf_cluster_outputs.%s, which the cluster module does not export", role, strings.Join(r.Path, ".")), r.Range)
		}
		if ok && role != contract.RoleCluster {
			p.rec.pass("CP-070", role, fmt.Sprintf("%d reads of the %s module are exported", len(reads), role))
		}
	}
}

func (p *play) observeMachine(i *Infra, op Op, in *contract.MachineInputs, run *Run) {
	out, role := i.Machine, contract.RoleMachine
	if i.fault.harmsInstance() {
		if op == OpRefresh {
			p.rec.add(judgeHarmed(i.fault, out))
		}
		return
	}
	for _, f := range judgeMachine(in, out) {
		p.rec.add(f)
	}
	if other := p.sameProviderID(i); other != "" {
		p.rec.fail("CP-040", role, fmt.Sprintf("%s and %s have the same provider_id %q", i.Ref(), other, out.ProviderID))
	}
	p.judgeSharedAddress(i)
	p.noteHostnames(out.Addresses)
	p.judgeRegistration(in, out)
	if op != OpApply {
		return
	}
	if f, ok := judgePlacement(in, p.w.Cluster.FailureDomains, run.Resources); ok {
		p.rec.add(f)
	}
	p.blameUnjoined(in, run) // before any judgement about what the machine joins
	p.judgeSpelling(in)
	p.judgePacked(in, run)
	p.judgeSupervisor(p.cfg.Modules.Module(role).Membership, in, run.Resources)
	if f, ok := p.judgeMember(in, run); ok {
		p.rec.add(f)
	}
	p.observeAttachments(in, run)
	p.observePorts(in, run)
	if !p.probingMachines && p.cfg.Scenario.Probes {
		p.probingMachines = true
		p.probeMachines(in)
		p.probeMembers(in)
	}
}

// judgeMachine judges the outputs of a machine module that decode.
func judgeMachine(in *contract.MachineInputs, out *contract.MachineOutputs) []finding {
	role := contract.RoleMachine
	var fs []finding
	if out.ProviderID != "" {
		why := badProviderID(out.ProviderID)
		fs = append(fs, judge(why == "", "CP-040", role, "provider_id "+why, out.ProviderID))
		if out.Health.State != contract.HealthPending {
			fs = append(fs, finding{id: "CP-054", role: role, status: StatusPassed, evidence: []string{"health is " + string(out.Health.State) + " without a Node"}})
		}
	}
	if out.Addresses != nil {
		internal := slices.ContainsFunc(out.Addresses, func(a contract.Address) bool { return a.Type == contract.AddressInternalIP })
		switch {
		case len(out.Addresses) == 0:
			fs = append(fs, finding{id: "CP-042", role: role, status: StatusFailed, reason: "addresses is an empty list"})
		default:
			why := badAddress(out.Addresses)
			fs = append(fs, judge(why == "", "CP-042", role, "addresses: "+why))
			f := judge(internal, "CP-042", role, "at least one address is reported, as it must be, but no InternalIP, as it should be", fmt.Sprintf("%d addresses", len(out.Addresses)))
			f.remedy = "emit an InternalIP beside the others, or allow this on purpose with --allow CP-042"
			fs = append(fs, f)
		}
	}
	if in.FailureDomain != nil && out.FailureDomain != nil {
		fs = append(fs, judge(*in.FailureDomain == *out.FailureDomain, "CP-045", role, "the output failure_domain differs from the input", "placed in "+*out.FailureDomain))
	}
	return fs
}

// judgePlacement judges that the instance is in the failure domain that is asked
// for, whatever the output says (CP-045). Only a zone that is itself the name of
// another published domain shows that it is not: domains may be named otherwise
// than zones are. ok is false where nothing tells.
func judgePlacement(in *contract.MachineInputs, domains []contract.FailureDomain, resources []Resource) (f finding, ok bool) {
	if in.FailureDomain == nil {
		return finding{}, false
	}
	var elsewhere, there []string
	for _, placed := range balancer.PlacementsOf(resources) {
		where := fmt.Sprintf("%s has %s %q", placed.Address, placed.Attribute, placed.Zone)
		switch {
		case placed.Zone == *in.FailureDomain:
			there = append(there, where)
		case slices.ContainsFunc(domains, func(d contract.FailureDomain) bool { return d.Name == placed.Zone }):
			elsewhere = append(elsewhere, where)
		}
	}
	if len(there)+len(elsewhere) == 0 {
		return finding{}, false
	}
	return judge(len(there) > 0, "CP-045", contract.RoleMachine,
		fmt.Sprintf("failure_domain %q is asked for, and %s, which is another failure domain of the cluster", *in.FailureDomain, strings.Join(elsewhere, ", ")), there...), true
}

// sameProviderID returns another machine with the same provider id.
func (p *play) sameProviderID(i *Infra) string {
	for _, m := range p.w.Machines {
		if m.Infra != i && m.Infra.Machine != nil && m.Infra.Machine.ProviderID != "" && m.Infra.Machine.ProviderID == i.Machine.ProviderID {
			return m.Infra.Ref()
		}
	}
	return ""
}

// judgeMember judges a machine's membership. With an endpoint of the user's there
// may be no balancer to join.
func (p *play) judgeMember(in *contract.MachineInputs, run *Run) (f finding, ok bool) {
	m := p.membership()
	if m != nil && m == p.selected {
		joined := p.members(run.Resources)
		if in.ControlPlane {
			return judge(len(joined) > 0, "CP-030", contract.RoleMachine, "no selector of the cluster's load balancer matches a control-plane machine",
				"a selector matches"), true
		}
		return judge(len(joined) == 0, "CP-031", contract.RoleMachine, "a selector of the cluster's load balancer matches a worker", "no selector matches a worker"), true
	}
	if m != nil && in.ControlPlane && (p.endpointSource == contract.EndpointSourceUser || p.endpointGiven) {
		if joined, _ := memberships(m, run.Resources); len(joined) == 0 {
			return finding{id: "CP-030", role: contract.RoleMachine, status: StatusNotApplicable, reason: "the user gives the endpoint, and the machine joins no load balancer"}, true
		}
	}
	return judgeMembership(m, in.ControlPlane, run.Resources)
}

// judgeMembership judges whether a machine is a backend exactly when it shall
// be (CP-030, CP-031). ok is false when the module does not tell.
func judgeMembership(m *Membership, controlPlane bool, resources []Resource) (f finding, ok bool) {
	if m == nil || m.Pattern == PatternNone {
		return finding{}, false
	}
	joined, missing := memberships(m, resources)
	if len(joined)+len(missing) == 0 && controlPlane {
		return finding{
			id: "CP-030", role: contract.RoleMachine, status: StatusFailed,
			reason: "captf-harness.json declares how machines join the supervisor listener only, so nothing joins the API backend",
			remedy: "declare the attachment or selector of the api listener in captf-harness.json too",
		}, true
	}
	if !controlPlane {
		return judge(len(joined) == 0, "CP-031", contract.RoleMachine,
			"a worker joins the control plane's backends: "+strings.Join(joined, ", "), "a worker joins no backend"), true
	}
	return judge(len(missing) == 0 && len(joined) > 0, "CP-030", contract.RoleMachine,
		"a control-plane machine does not join the backend through "+strings.Join(missing, ", "), "joined through "+strings.Join(joined, ", ")), true
}

// memberships sorts the API members of a module into those that exist in the
// state and those that do not.
func memberships(m *Membership, resources []Resource) (joined, missing []string) {
	for _, member := range m.Members {
		if member.Listener == balancer.ListenerSupervisor {
			continue // the listener of another control plane
		}
		r := joinedBy(member, resources)
		if r == nil {
			missing = append(missing, member.Address)
			continue
		}
		joined = append(joined, r.Address)
	}
	return joined, missing
}

// joinedBy returns the first resource in the state by which a member has joined;
// nil when it has not.
func joinedBy(member Member, resources []Resource) *Resource {
	if all := allJoinedBy(member, resources); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// allJoinedBy returns every resource in the state by which a member has joined:
// an address without an index covers all instances.
func allJoinedBy(member Member, resources []Resource) []Resource {
	var out []Resource
	for _, r := range resources {
		if (r.Address == member.Address || baseAddress(r.Address) == member.Address) && (member.Path == nil || valueAt(r.Values, member.Path) != nil) {
			out = append(out, r)
		}
	}
	return out
}

func (p *play) observePool(i *Infra, op Op, run *Run) {
	role := contract.RoleMachinePool
	if i.Provisioned && op == OpApply && p.w.Pool != nil && p.w.Pool.Rotation > 0 {
		p.rec.add(judgeChanges("CP-061", role, run, "the apply with new bootstrap data", ActionDelete, ActionReplace))
	}
	for _, f := range judgePool(i.Pool, run) {
		p.rec.add(f)
	}
	if m := p.cfg.Modules.Module(role).Membership; m != nil {
		joined, _ := memberships(m, run.Resources)
		p.rec.add(judge(len(joined) == 0, "CP-060", role, "the pool joins the control plane's backends: "+strings.Join(joined, ", ")))
	} else {
		p.rec.pass("CP-060", role, "the pool module declares no membership and makes no known attachment")
	}
	if op == OpApply && i.HealthOf().State != contract.HealthPending && p.w.Pool != nil && p.w.Pool.Nodes == 0 {
		p.rec.pass("CP-064", role, "the first apply is complete before any Node joins")
	}
	if !p.probingPool && p.cfg.Scenario.Probes && op == OpApply && p.w.Pool != nil {
		p.probingPool = true
		p.probePool(p.w.Pool, i.Pool.ProviderIDList)
	}
}

// judgePool judges the membership list of a pool (CP-063).
func judgePool(out *contract.PoolOutputs, run *Run) []finding {
	if out.ProviderIDList == nil || out.Replicas == nil {
		return nil
	}
	role := contract.RoleMachinePool
	var raw []string
	if err := json.Unmarshal(run.Values.Outputs["provider_id_list"], &raw); err != nil {
		return nil // decoding has reported it
	}
	fs := []finding{judge(slices.IsSorted(raw), "CP-063", role, "provider_id_list is not sorted")}
	if len(raw) != len(out.ProviderIDList) {
		fs = append(fs, finding{id: "CP-063", role: role, status: StatusFailed, reason: "provider_id_list holds an id twice"})
	}
	fs = append(fs, judgeMembers(out, run)...)
	if int64(len(out.ProviderIDList)) == *out.Replicas {
		fs = append(fs, finding{id: "CP-063", role: role, status: StatusPassed, evidence: []string{fmt.Sprintf("%d entries, %d replicas", len(raw), *out.Replicas)}})
	}
	return fs
}

func endpointText(e *contract.Endpoint) string {
	if e == nil {
		return "null"
	}
	return fmt.Sprintf("%s:%d", e.Host, e.Port)
}
