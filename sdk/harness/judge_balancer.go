package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// What is judged here is seen on resources of types that package balancer knows.
// Where none is known the requirement is left to a person, with its question.

// observeBalancer takes what a run of the cluster module shows of its balancer:
// how the machines become backends, how long health checks take, whether a
// backend reaches itself.
func (p *play) observeBalancer(in *contract.ClusterInputs, run *Run) {
	if in.ControlPlaneEndpoint != nil && p.endpointSource == contract.EndpointSourceUser {
		p.rec.add(judgeNoEndpoint(run.Resources))
		return
	}
	p.recogniseSelectors(run.Resources)
	p.observeChecks(run.Resources)
	if address, why, found := balancer.Hairpin(run.Resources); found {
		// Who allows it says that the nodes help themselves, as by a rule of their own.
		if !slices.Contains(p.cfg.Allow, "CP-020") {
			p.w.Balancer.SetHairpin(false)
		}
		p.rec.fail("CP-020", contract.RoleCluster, address+": "+why)
	}
	p.judgeNoMembers(run)
}

// judgeNoEndpoint judges that no balancer was made although the endpoint is given (CP-002).
func judgeNoEndpoint(resources []Resource) finding {
	return judge(len(balancer.Endpoints(resources)) == 0, "CP-002", contract.RoleCluster,
		"a load balancer is created although control_plane_endpoint is given: "+strings.Join(addressesOf(balancer.Endpoints(resources)), ", "))
}

func addressesOf(resources []Resource) []string {
	var out []string
	for _, r := range resources {
		out = append(out, r.Address)
	}
	return out
}

// recogniseSelectors takes a balancer that selects instances by an attribute as
// pattern B, where the machine module declares nothing else.
func (p *play) recogniseSelectors(resources []Resource) {
	if p.membership() != nil || len(balancer.Selectors(resources)) == 0 {
		return
	}
	p.selected = &Membership{Pattern: PatternSelector}
	p.w.Balancer.Recognise(PatternSelector)
	p.rec.noMembership = false
}

// membership tells how the machines become backends: as the machine module
// says or shows, else as the cluster's balancer selects them; nil when nothing tells.
func (p *play) membership() *Membership {
	if m := p.cfg.Modules.Module(contract.RoleMachine).Membership; m != nil {
		return m
	}
	return p.selected
}

// members returns the members of a machine: those that its module declares, or
// the instance that a selector of the cluster's balancer matches.
func (p *play) members(resources []Resource) []Member {
	m := p.membership()
	if m == nil || m != p.selected {
		if m == nil {
			return nil
		}
		return m.Members
	}
	var out []Member
	if p.w.Infra.Run != nil {
		for _, r := range balancer.Selected(p.w.Infra.Run.Resources, resources) {
			out = append(out, Member{Address: r.Address})
		}
	}
	return out
}

// observeChecks takes the windows of the health checks into the story and judges
// the checks (CP-018, CP-019, CP-023).
func (p *play) observeChecks(resources []Resource) {
	role := contract.RoleCluster
	for _, c := range balancer.Checks(resources) {
		listener := c.Listener
		if listener == "" {
			listener = balancer.ListenerAPI
		}
		if listener == balancer.ListenerSupervisor && p.cp.supervises() {
			why := c.WrongForSupervisor()
			p.rec.add(judge(why == "", "CP-019", role, c.Address+" finds no supervisor healthy: "+why,
				fmt.Sprintf("%s checks by %s %s %s", c.Address, c.Protocol, c.Path, c.Codes)))
		}
		if listener == balancer.ListenerAPI {
			if why := c.WrongForAPI(); why != "" {
				p.rec.fail("CP-018", role, c.Address+" finds no API server healthy: "+why)
			}
		}
		if c.Window == (balancer.Window{}) {
			continue
		}
		p.rec.add(judge(c.Slow() == "", "CP-023", role, c.Slow(), c.Why))
		p.w.Balancer.SetWindow(listener, c.Window)
	}
}

// judgeNoMembers judges that no control-plane machine stands in the cluster's
// own state (CP-026).
func (p *play) judgeNoMembers(run *Run) {
	role := contract.RoleCluster
	if attached := balancer.Attachments(run.Resources); len(attached) > 0 && len(balancer.Selectors(attached)) == 0 {
		p.rec.fail("CP-026", role, "the cluster module holds the membership of instances: "+strings.Join(addressesOf(attached), ", "))
		return
	}
	ids := p.instanceIDs()
	for _, id := range ids {
		if in := balancer.Mentions(run.Resources, id); len(in) > 0 {
			p.rec.fail("CP-026", role, fmt.Sprintf("the cluster's state holds the id of a control-plane instance, in %s", strings.Join(in, ", ")))
			return
		}
	}
	if len(ids) > 0 {
		p.rec.pass("CP-026", role, fmt.Sprintf("with %d control-plane instances, none stands in the cluster's state", len(ids)))
	}
}

// instanceIDs returns the cloud's ids of the control-plane instances whose types are known.
func (p *play) instanceIDs() []string {
	var ids []string
	for _, m := range p.w.ControlPlaneMachines() {
		if m.Infra.Run != nil {
			ids = append(ids, balancer.InstanceIDs(m.Infra.Run.Resources)...)
		}
	}
	return ids
}

// observeAttachments judges what the apply of a machine shows of its attachments.
func (p *play) observeAttachments(in *contract.MachineInputs, run *Run) {
	if !in.ControlPlane || p.w.Balancer.Direct() {
		return
	}
	role := contract.RoleMachine
	applied := p.w.MachinesWhere(func(m *Machine) bool { return m.Infra.Run != nil }) // a worker's Machine may be there, and wait
	if len(applied) == 1 && len(p.members(run.Resources)) > 0 {
		p.rec.pass("CP-034", role, "the apply of the first machine ends while there is no other")
	}
	attached := balancer.Attachments(run.Resources)
	for _, r := range attached {
		p.rec.add(p.judgeHandOff(r, in))
		waits := balancer.Waits(r, run.Resources)
		p.rec.add(judge(len(waits) == 0, "CP-033", role,
			fmt.Sprintf("%s is created only after %s, which makes nothing that it needs", r.Address, strings.Join(waits, ", ")),
			fmt.Sprintf("%s depends on %s", r.Address, orNothing(r.DependsOn))))
		if f, ok := judgeLeaving(r, run.Resources); ok {
			p.rec.add(f)
		}
	}
	lists := balancer.MemberLists(run.Resources)
	switch {
	case len(lists) > 0:
		p.rec.fail("CP-037", role, "the machine module holds a whole list of members, which every machine would write: "+strings.Join(addressesOf(lists), ", "))
	case len(attached) > 0:
		p.rec.pass("CP-037", role, "one attachment a machine, and no list of members: "+strings.Join(addressesOf(attached), ", "))
	}
	for _, m := range p.members(run.Resources) {
		// Of a declared attachment only a wait that is known can be told.
		if r := joinedBy(m, run.Resources); r != nil {
			if waits := balancer.Waits(*r, run.Resources); len(waits) > 0 {
				p.rec.fail("CP-033", role, fmt.Sprintf("%s is created only after %s, which makes nothing that it needs", r.Address, strings.Join(waits, ", ")))
			}
		}
	}
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// judgeHandOff judges that an attachment uses what the cluster exports (CP-010).
func (p *play) judgeHandOff(r Resource, in *contract.MachineInputs) finding {
	path, pool := balancer.PoolOf(r)
	exported := ""
	walkJSON(in.ClusterOutputs, func(at []string, v any) {
		s, isText := v.(string)
		if exported == "" && isText && related(s, pool) {
			exported = strings.Join(at, ".")
		}
	})
	return judge(exported != "", "CP-010", contract.RoleCluster,
		fmt.Sprintf("%s registers with a %s that no export holds: machines find the pool without the cluster's exports", r.Address, path),
		fmt.Sprintf("%s.%s is the export %s", r.Address, path, exported))
}

// related tells that one text is the other, or the end of the other where that
// is a longer form of one id, such as a self link of a name.
func related(export, value string) bool {
	if export == value {
		return value != ""
	}
	return export != "" && value != "" && (strings.HasSuffix(export, "/"+value) || strings.HasSuffix(value, "/"+export))
}

// judgeLeaving judges that the attachment goes before the instance (CP-036). ok
// is false where it cannot be told, or where members come before servers (harness.md H19).
func judgeLeaving(attachment Resource, resources []Resource) (f finding, ok bool) {
	if t := balancer.TypeOf(attachment.Type); t.Attachment.Before {
		return finding{id: "CP-036", role: contract.RoleMachine, status: StatusNotApplicable,
			reason: attachment.Address + " is registered before the server boots, so it cannot be removed before the server is"}, true
	}
	switch balancer.OrderOf(attachment, resources) {
	case balancer.OrderAfterInstance:
		return finding{id: "CP-036", role: contract.RoleMachine, status: StatusPassed, evidence: []string{attachment.Address + " depends on the instance, so destroy removes it first"}}, true
	case balancer.OrderBeforeInstance:
		return finding{id: "CP-036", role: contract.RoleMachine, status: StatusFailed, reason: "the instance depends on " + attachment.Address + ", so destroy removes the instance first"}, true
	case balancer.OrderNone:
		return finding{id: "CP-036", role: contract.RoleMachine, status: StatusFailed, reason: attachment.Address + " and the instance do not depend on each other, so destroy removes them in any order"}, true
	}
	return finding{}, false
}

// judgeRoll judges that a group replaces its members for a new version (CP-062,
// harness.md H13). ok is false where no group is known.
func judgeRoll(run *Run) (f finding, ok bool) {
	groups := balancer.Groups(run.Resources)
	if len(groups) == 0 {
		return finding{}, false
	}
	for _, g := range groups {
		n := slices.IndexFunc(run.Changes, func(c Change) bool { return c.Address == g.Address })
		reason := ""
		switch {
		case n < 0:
			reason = "a new kubernetes_version changes " + orNothing(changed(run)) + " and not " + g.Address + " itself: its members keep the old version"
		case run.Changes[n].Action == ActionUpdate:
			if rolls, why := balancer.Rolls(g); !rolls {
				reason = "a new kubernetes_version changes " + g.Address + " in place: " + why
			}
		}
		if reason != "" {
			return finding{id: "CP-062", role: contract.RoleMachinePool, status: StatusFailed, reason: reason}, true
		}
	}
	return finding{id: "CP-062", role: contract.RoleMachinePool, status: StatusPassed, evidence: []string{"a new kubernetes_version rolls " + strings.Join(addressesOf(groups), ", ")}}, true
}

func changed(run *Run) []string {
	var out []string
	for _, c := range run.Changes {
		out = append(out, c.Address)
	}
	return out
}
