package harness

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
)

// longName is the longest name that the API server accepts for an object.
const longName = 253

// probeMachines drills the machine module with inputs that the story does not
// have. base are those of the first machine.
func (p *play) probeMachines(base *contract.MachineInputs) {
	domains := domainNames(p.w.Cluster.FailureDomains)
	payload := p.cp.Payload(p.w, nil, p.rng.Uint64())
	other := p.cp.Payload(p.w, nil, p.rng.Uint64())
	in := *base
	in.Object.Name, in.MachineName = p.probeName("object"), p.probeName("machine")
	in.Bootstrap = payload
	if len(domains) > 0 {
		in.FailureDomain = &domains[0]
	}
	// The other drills wait for a plan with names like theirs, so that one fault is blamed once (H4).
	planned := make(chan bool) // tells that names which differ only at their end stay apart
	p.probe("plans with other names, payloads, versions and placements", contract.RoleMachine, func(d *drill) {
		defer close(planned)
		d.machinePlans(in, other, domains, planned)
	})
	p.probe("two machines side by side, refreshed and destroyed one after the other", contract.RoleMachine, func(d *drill) {
		if apart, ok := <-planned; ok {
			d.machinePair(in, apart)
		}
	})
	p.probe("a create that breaks midway, destroyed twice", contract.RoleMachine, func(d *drill) {
		if _, ok := <-planned; ok {
			d.machinePartial(in)
		}
	})
}

// machinePlans plans variations of the inputs on an object without state. It
// tells the drills that wait for it, twice, once the first plan succeeded.
func (d *drill) machinePlans(in contract.MachineInputs, other contract.Bootstrap, domains []string, planned chan<- bool) {
	object := d.p.probeName("plan")
	base := d.values(object, &in)
	if base == nil {
		return
	}
	if base.Failed {
		d.blameBase(object, in, base)
		return
	}
	apart := judgeTwins(d, object, in, base)
	planned <- apart
	planned <- apart
	d.add(finding{id: "CP-052", role: d.role, status: StatusPassed, evidence: []string{"planned with captf_object.name unlike machine_name"}})
	d.payloads(object, in, other, base)
	for _, v := range d.machineVariations(in, domains) {
		d.ok(d.run(OpPlan, object, &v.in), v.id, "the plan with "+v.what)
	}
	planUnusual(d, object, in, append(unusualNames[contract.MachineInputs]("CP-053"),
		unusual[contract.MachineInputs]{id: idContract + "kubernetes_version", what: "kubernetes_version null", change: func(in *contract.MachineInputs) { in.KubernetesVersion = nil }},
		unusual[contract.MachineInputs]{id: "CP-046", what: "failure_domain null", change: func(in *contract.MachineInputs) { in.FailureDomain = nil }},
	))
	odd := in
	odd.Bootstrap = gzipped(in.Bootstrap)
	d.packed(d.run(OpPlan, object, &odd))
}

// blameBase finds out why a machine like those of the story cannot be planned:
// its names are the only difference.
func (d *drill) blameBase(object string, in contract.MachineInputs, base *Run) {
	same := in
	same.MachineName = same.Object.Name
	id := idApply
	if run := d.run(OpPlan, object, &same); run != nil && !run.Failed {
		id = "CP-052"
	}
	reason := "the plan with captf_object.name unlike machine_name fails: " + firstError(base)
	d.add(finding{id: id, role: d.role, status: StatusFailed, reason: reason})
	d.skip("the probes did not come to it: "+reason, "CP-035", "CP-038", "CP-046", "CP-047", "CP-048", "CP-050", "CP-051", "CP-052", "CP-053", "CP-056")
}

// variation is one set of inputs that a machine module must accept.
type variation struct {
	id, what string
	in       contract.MachineInputs
}

func (d *drill) machineVariations(in contract.MachineInputs, domains []string) []variation {
	var vs []variation
	add := func(id, what string, change func(*contract.MachineInputs)) {
		changed := in
		change(&changed)
		vs = append(vs, variation{id, what, changed})
	}
	for _, kib := range []int{20, 60} {
		add("CP-048", fmt.Sprintf("a payload of %d KiB", kib), func(c *contract.MachineInputs) {
			c.Bootstrap.Data = pad(c.Bootstrap.Data, kib<<10)
		})
	}
	if version := d.p.cp.OtherVersion; version != "" {
		add("CP-050", "kubernetes_version "+version, func(c *contract.MachineInputs) { c.KubernetesVersion = &version })
	}
	for _, domain := range domains {
		add("CP-014", "failure_domain "+domain, func(c *contract.MachineInputs) { c.FailureDomain = &domain })
	}
	return vs
}

// pad makes a payload of the given size out of a smaller one, as a comment.
func pad(data []byte, size int) []byte {
	out := slices.Clone(data)
	for len(out) < size {
		out = append(out, "\n# padding to the size of a control-plane payload with its certificates"...)
	}
	return out[:size]
}

// stretch makes a name as long as the API server accepts.
func stretch(name string) string {
	return name + strings.Repeat("x", longName-len(name))
}

// payloads judges that the payload reaches the plan in each format, and in
// which form (CP-047).
func (d *drill) payloads(object string, in contract.MachineInputs, other contract.Bootstrap, base *Run) {
	for _, format := range d.formats() {
		run := base
		one, two := in, in
		two.Bootstrap = other
		if format != in.Bootstrap.Format {
			one.Bootstrap.Format, two.Bootstrap.Format = format, format
			if run = d.values(object, &one); run == nil {
				return
			}
			if run.Failed {
				d.add(finding{id: "CP-047", role: d.role, status: StatusPassed, evidence: []string{"the module refuses " + format + ": " + firstError(run)}})
				continue
			}
		}
		second := d.values(object, &two)
		if !d.must(second, "CP-047", "the plan with another "+format+" payload") {
			return
		}
		if bytes.Equal(run.Planned, second.Planned) {
			d.add(finding{id: "CP-047", role: d.role, status: StatusFailed,
				reason: "two different " + format + " payloads give the same plan: the payload reaches no resource"})
			continue
		}
		d.add(judgePassage(run.Planned, one.Bootstrap))
	}
}

// formats returns the bootstrap formats of the contract.
func (d *drill) formats() []string {
	row, _ := d.p.cfg.Definition.Spec(d.role).Input("bootstrap_format")
	return row.Shape.Enum
}

// machinePair applies two machines and destroys one after the other (CP-035,
// CP-039, CP-040, CP-051, CP-052, CP-056).
//
// Their names are as long as names may be and differ only at their end, unless
// plans have shown that the module mixes such names up.
func (d *drill) machinePair(in contract.MachineInputs, long bool) (applied bool) {
	one, two := in, in
	one.Object.Name, one.MachineName = d.p.probeName("a"), d.p.probeName("machine-a")
	two.Object.Name, two.MachineName = d.p.probeName("b"), d.p.probeName("machine-b")
	object, other := one.Object.Name, two.Object.Name
	if long {
		renameTwin(&one, "a")
		renameTwin(&two, "b")
	}
	first, second := d.run(OpApply, object, &one), d.run(OpApply, other, &two)
	if long && first != nil && second != nil && (first.Failed || second.Failed) {
		d.shortPair(in, object, other, &one, &two, cmp.Or(failedOf(first), failedOf(second)))
		return true
	}
	if !d.must(first, idApply, "the apply of a machine") || !d.must(second, idApply, "the apply of a second machine") {
		return false
	}
	a, _ := d.p.cfg.Definition.DecodeMachine(first.Values, &one)
	b, _ := d.p.cfg.Definition.DecodeMachine(second.Values, &two)
	d.add(judge(a.ProviderID == "" || a.ProviderID != b.ProviderID, "CP-040", d.role,
		fmt.Sprintf("two machines have the same provider_id %q", a.ProviderID), "two machines have different provider ids"))
	if shared := sharedAddress(a.Addresses, b.Addresses); shared != "" {
		d.add(finding{id: "CP-042", role: d.role, status: StatusFailed, reason: fmt.Sprintf("two machines have the same InternalIP %q", shared)})
	}
	d.hostnames(first, second, a, b)
	d.refreshed(object, &one, a)
	run := d.plan(other, &two)
	drifted := false
	if d.must(run, idApply, "the plan of a machine that was applied") {
		f := judgeEmpty("CP-056", d.role, run, "the plan of a machine with its own inputs")
		drifted = f.status == StatusFailed
		d.add(f)
	}
	destroyed := d.ok(d.run(OpDestroy, object, &one), "CP-039", "destroy with the recorded inputs")
	switch {
	case drifted:
		d.skip("the plan of a machine is never empty, as said under CP-056", "CP-035")
	case destroyed:
		if run := d.plan(other, &two); d.must(run, "CP-035", "the plan of a machine after another was destroyed") {
			d.add(judgeEmpty("CP-035", d.role, run, "the plan of a machine after another was destroyed"))
		}
	}
	d.must(d.run(OpDestroy, other, &two), "CP-039", "destroy with the recorded inputs")
	return true
}

// shortPair tries ordinary names after an apply with long ones failed: what
// only the cloud refuses is no matter of the plan (CP-053).
func (d *drill) shortPair(in contract.MachineInputs, object, other string, one, two *contract.MachineInputs, failed *Run) {
	destroyed := d.must(d.run(OpDestroy, object, one), idDestroy, "destroy after a failed apply")
	destroyed = d.must(d.run(OpDestroy, other, two), idDestroy, "destroy after a failed apply") && destroyed
	if destroyed && d.machinePair(in, false) {
		d.add(finding{id: "CP-053", role: d.role, status: StatusFailed,
			reason: fmt.Sprintf("the apply with names of %d characters fails, and that with short ones succeeds: %s", longName, firstError(failed))})
	}
}

// failedOf returns a run that failed, nil for another.
func failedOf(run *Run) *Run {
	if run.Failed {
		return run
	}
	return nil
}

// plan plans a machine with its own inputs. Outputs that change are left out
// when one of them was seen to be not constant: that is said under CP-040.
func (d *drill) plan(object string, in *contract.MachineInputs) *Run {
	run := d.run(OpPlan, object, in)
	if run != nil && d.moved {
		run.OutputsChanged = false
	}
	return run
}

// refreshed judges that a refresh keeps the provider id (CP-040).
func (d *drill) refreshed(object string, in *contract.MachineInputs, before *contract.MachineOutputs) {
	run := d.run(OpRefresh, object, in)
	if !d.must(run, idApply, "the refresh of a machine") {
		return
	}
	after, _ := d.p.cfg.Definition.DecodeMachine(run.Values, in)
	d.moved = after.ProviderID != before.ProviderID
	d.add(judge(after.ProviderID == before.ProviderID, "CP-040", d.role,
		fmt.Sprintf("a refresh changes provider_id from %q to %q", before.ProviderID, after.ProviderID), "provider_id is constant over a refresh"))
}

// hostnameAttributes are the attributes in which clouds keep an instance's hostname.
var hostnameAttributes = []string{"hostname", "host_name", "computer_name", "hostname_label"}

// hostnames judges that two machines have hostnames of their own (CP-051).
func (d *drill) hostnames(first, second *Run, a, b *contract.MachineOutputs) {
	names := func(run *Run, out *contract.MachineOutputs) []string {
		var found []string
		for _, address := range out.Addresses {
			if address.Type == contract.AddressHostname {
				found = append(found, address.Address)
			}
		}
		for _, r := range run.Resources {
			for _, attribute := range hostnameAttributes {
				if s, ok := r.Values[attribute].(string); ok && s != "" {
					found = append(found, s)
				}
			}
		}
		return found
	}
	ours, theirs := names(first, a), names(second, b)
	if len(ours) == 0 {
		d.skip("the module emits no Hostname address and no resource has a hostname", "CP-051")
		return
	}
	for _, name := range ours {
		if slices.Contains(theirs, name) {
			d.add(finding{id: "CP-051", role: d.role, status: StatusFailed, reason: fmt.Sprintf("two machines have the same hostname %q", name)})
			return
		}
	}
	d.add(finding{id: "CP-051", role: d.role, status: StatusPassed, evidence: []string{ours[0] + " and " + theirs[0]}})
}

// machinePartial breaks a create midway and destroys what it left, twice (CP-038).
func (d *drill) machinePartial(in contract.MachineInputs) {
	in.Object.Name, in.MachineName = d.p.probeName("broken"), d.p.probeName("machine-broken")
	object := in.Object.Name
	d.runs++
	d.live[object] = &in
	d.p.runs.enter()
	run, ok, err := d.p.cfg.Modules.PartialApply(d.ctx, runKey(d.role, object), &in)
	d.p.made.ran(d.role, object, OpApply, run)
	d.p.runs.leave()
	if err != nil {
		d.err = fmt.Errorf("breaking the apply of %s: %w", object, err)
		return
	}
	if !ok {
		delete(d.live, object)
		d.skip("the module has no resource to break after", "CP-038")
		return
	}
	var left []string
	for _, r := range run.Resources {
		left = append(left, r.Address)
	}
	what := "destroy after an apply that left only " + strings.Join(left, ", ")
	if !d.ok(d.run(OpDestroy, object, &in), "CP-038", what) {
		return
	}
	d.ok(d.run(OpDestroy, object, &in), "CP-038", "destroy once more")
}
