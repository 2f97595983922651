package scenario

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/requirements"
)

// compile makes everything but the steps.
func (s *source) compile() harness.Scenario {
	f := s.file
	out := harness.Scenario{
		ID: f.ID, Title: f.Title, Source: f.Source, ControlPlanes: f.ControlPlanes, Race: harness.Race(f.Race), Endpoint: harness.EndpointMode(f.Endpoint),
		HealthCheck: f.HealthCheck, Probes: f.Probes, Asserts: f.Asserts, Registration: f.Registration, RegistrationAddress: f.Address,
		Annotations: f.Annotations, APIServerPort: int64(f.APIServerPort), HairpinOff: f.Hairpin != nil && !*f.Hairpin,
		Pool: f.Requires != nil && f.Requires.Pool,
	}
	if f.Bootstrap != nil {
		out.Bootstrap = harness.BootstrapOptions{Format: f.Bootstrap.Format, Gzip: f.Bootstrap.Gzip}
	}
	if f.End != nil && f.End.Stalled != nil {
		out.Stalls = &harness.ExpectedStall{Gate: f.End.Stalled.Gate, Requirement: f.End.Stalled.Requirement, Optional: f.End.Stalled.Optional}
	}
	return out
}

// checker follows what a story asks for, step by step, and tells what can never
// happen in that order.
type checker struct {
	src    *source
	planes []*harness.ControlPlane
	spec   harness.Spec
	// created, deleted, upgraded and withoutPlane tell what was asked for before.
	created, deleted, upgraded, withoutPlane bool
	endpointGiven                            bool
	// machines counts the control-plane machines and workers that were asked for so far.
	machines, workers int
	// pool tells that the story asks for a pool.
	pool bool
}

// scenario checks what is said of the whole story.
func (c *checker) scenario() {
	f := c.src.file
	for n, id := range f.Asserts {
		if _, known := requirements.Get(id); !known {
			c.src.fail(fmt.Sprintf("asserts[%d]", n), "there is no requirement %q%s", id, meant(id, requirementIDs()))
		}
	}
	for _, cp := range c.planes {
		if _, err := cp.FindRegistration(f.Registration); err != nil {
			c.src.fail("registration", "%s", err)
		}
	}
	if f.End == nil {
		return
	}
	switch {
	case f.End.Deleted && f.End.Stalled != nil && !f.End.Stalled.Optional:
		c.src.fail("end", "a story ends with a deletion or with a stall, not with both")
	case f.End.Stalled != nil:
		c.gate("end.stalled.gate", f.End.Stalled.Gate)
		if id := f.End.Stalled.Requirement; id != "" {
			if _, known := requirements.Get(id); !known && !strings.Contains(id, "/") {
				c.src.fail("end.stalled.requirement", "there is no requirement %q%s", id, meant(id, requirementIDs()))
			}
		}
	}
}

func requirementIDs() []string {
	var ids []string
	for _, row := range requirements.All() {
		ids = append(ids, row.ID)
	}
	return ids
}

// gate checks that there is a gate with the id.
func (c *checker) gate(path, id string) {
	var ids []string
	for _, cp := range c.planes {
		for _, g := range harness.Gates(cp) {
			ids = append(ids, g.ID)
		}
	}
	if !slices.Contains(ids, id) {
		c.src.fail(path, "there is no gate %q%s", id, cmp.Or(meant(id, ids), alike(id, ids)))
	}
}

// step checks one step in its place and makes it one of the harness.
func (c *checker) step(at located, last bool) harness.Step {
	out := harness.Step{ID: at.ID, Title: at.Title, Move: at.Move, Remediate: harness.Target(at.Remediate)}
	kinds := 0
	for _, set := range []bool{at.Ask != nil, at.Fault != nil, at.Remediate != "", at.Move} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		c.src.fail(at.path, "a step has exactly one of ask, fault, remediate and move, and this one has %d", kinds)
		return out
	}
	if c.deleted {
		c.src.fail(at.path, "the cluster was deleted in the step before, so nothing can happen to it any more")
		return out
	}
	out.Until = c.until(at)
	switch {
	case at.Ask != nil:
		out.Ask = c.ask(at)
	case at.Fault != nil:
		out.Fault = c.fault(at)
	case at.Remediate != "":
		c.existing(at.path+".remediate", at.Remediate)
	case at.Move && !c.created:
		c.src.fail(at.path+".move", "there is nothing to move before the cluster is created")
	}
	if last && c.src.file.End != nil && c.src.file.End.Stalled != nil && out.Until.Stalled {
		c.src.fail(at.path+".until", "end.stalled says what the last step comes to; leave until out")
	}
	if at.Fault != nil && out.Fault == nil {
		return out // it has no kind that could be named
	}
	if out.ID == "" {
		out.ID = stepID(out)
	}
	if out.Title == "" {
		out.Title = stepTitle(out)
	}
	return out
}

// until reads what a step waits for.
func (c *checker) until(at located) harness.Until {
	switch at.Until {
	case "":
		return harness.Until{}
	case "settled":
		return harness.Until{Settled: true}
	case "stalled":
		return harness.Until{Stalled: true}
	case "now":
		return harness.Until{Now: true}
	}
	if strings.Contains(at.Until, "/") {
		c.gate(at.path+".until", at.Until)
		return harness.Until{Gate: at.Until}
	}
	return harness.Until{For: c.duration(at.path+".until", at.Until, "settled, stalled, now, a duration such as 20m, or the id of a gate")}
}

// maxDuration is the longest time that a scenario may name.
const maxDuration = 24 * time.Hour

func (c *checker) duration(path, text, forms string) time.Duration {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		c.src.fail(path, "%q is none of %s%s", text, forms, meant(text, []string{"settled", "stalled", "now"}))
	case d < time.Second || d > maxDuration:
		c.src.fail(path, "%s is not from 1s to %s", text, maxDuration)
	}
	return d
}

// ask checks a wish in its place.
func (c *checker) ask(at located) *harness.Ask {
	a, path := at.Ask, at.path+".ask"
	out := &harness.Ask{
		ControlPlanes: a.ControlPlanes, Workers: a.Workers, Pool: a.Pool, MaxSurge: a.MaxSurge,
		Upgrade: a.Upgrade, Topology: a.Topology, Template: a.Template, WorkerTemplate: a.WorkerTemplate, Delete: a.Delete, DeleteControlPlane: a.DeleteControlPlane,
	}
	rolls := a.Upgrade || a.Template
	sizes := a.ControlPlanes != nil || a.Workers != nil || a.Pool != nil
	if a.Endpoint != "" {
		out.Endpoint = c.endpoint(path+".endpoint", a.Endpoint)
	}
	switch {
	case *a == (Ask{}):
		c.src.fail(path, "it asks for nothing")
	case a.Delete && *a != (Ask{Delete: true}):
		c.src.fail(path+".delete", "what is deleted cannot be changed at the same time; use two steps")
	case !c.created && (a.Delete || a.DeleteControlPlane):
		c.src.fail(path, "there is nothing to delete before a step asks for controlPlanes")
	case !c.created && (rolls || a.Topology || a.WorkerTemplate):
		c.src.fail(path, "there is nothing to roll out to before a step asks for controlPlanes")
	case !c.created && a.ControlPlanes == nil && (sizes || a.MaxSurge != nil):
		c.src.fail(path, "a cluster begins with controlPlanes, which this step does not ask for")
	case c.withoutPlane && a.ControlPlanes != nil:
		c.src.fail(path+".controlPlanes", "the control plane was deleted, so it cannot be scaled")
	case c.withoutPlane && rolls:
		c.src.fail(path, "the control plane was deleted, so it cannot be rolled")
	case a.Topology && !a.Upgrade:
		c.src.fail(path+".topology", "topology goes with upgrade: true")
	case a.Upgrade && c.upgraded:
		c.src.fail(path+".upgrade", "the control plane has its next version already; template: true rolls it again")
	case a.Endpoint != "" && c.src.file.Endpoint != string(harness.EndpointLate):
		c.src.fail(path+".endpoint", "an endpoint is given in a step only with endpoint: late; with endpoint: user it is there from the start")
	case a.Endpoint != "" && c.endpointGiven:
		c.src.fail(path+".endpoint", "the Cluster has an endpoint already, and keeps it for life")
	}
	before := c.spec
	c.apply(a)
	if rolls && c.spec.MaxSurge == 0 && c.spec.ControlPlanes < 3 && c.created {
		c.src.fail(path, "a rollout with maxSurge 0 needs 3 control-plane machines, and there are %d", c.spec.ControlPlanes)
	}
	if a.ControlPlanes != nil {
		for _, cp := range c.planes {
			if cp.Admit == nil {
				continue
			}
			if refusal, _ := cp.Admit(&harness.World{Spec: c.spec}); refusal != "" {
				c.src.fail(path+".controlPlanes", "%s refuses it: %s", cp.Kind, refusal)
			}
		}
	}
	if !c.created && a.ControlPlanes != nil {
		c.created = true
	}
	if rolls {
		c.machines += c.spec.ControlPlanes
	}
	if a.Topology || a.WorkerTemplate {
		c.workers += c.spec.Workers
	}
	c.machines += max(0, c.spec.ControlPlanes-before.ControlPlanes)
	c.workers += max(0, c.spec.Workers-before.Workers)
	return out
}

// apply notes what a step asks for.
func (c *checker) apply(a *Ask) {
	if c.spec.ControlPlanes == 0 {
		c.spec.MaxSurge = 1
	}
	for _, set := range []struct{ from, to *int }{{a.ControlPlanes, &c.spec.ControlPlanes}, {a.Workers, &c.spec.Workers}, {a.Pool, &c.spec.PoolSize}, {a.MaxSurge, &c.spec.MaxSurge}} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	c.pool = c.pool || c.spec.PoolSize > 0
	c.upgraded = c.upgraded || a.Upgrade
	c.deleted = c.deleted || a.Delete
	c.withoutPlane = c.withoutPlane || a.DeleteControlPlane
	c.endpointGiven = c.endpointGiven || a.Endpoint != ""
}

func (c *checker) endpoint(path, text string) *contract.Endpoint {
	host, port, err := net.SplitHostPort(text)
	n, portErr := strconv.ParseInt(port, 10, 64)
	if err != nil || portErr != nil || host == "" || n < 1 || n > 65535 {
		c.src.fail(path, "%q is not HOST:PORT", text)
		return nil
	}
	return &contract.Endpoint{Host: host, Port: n}
}

// fault checks a fault in its place.
func (c *checker) fault(at located) *harness.Fault {
	f, path := at.Fault, at.path+".fault"
	info, known := harness.FaultOf(harness.FaultKind(f.Kind))
	if !known {
		var kinds []string
		for _, i := range harness.Faults() {
			kinds = append(kinds, string(i.Kind))
		}
		c.src.fail(path+".kind", "there is no kind of fault %q%s; there are %s", f.Kind, meant(f.Kind, kinds), strings.Join(kinds, ", "))
		return nil
	}
	out := &harness.Fault{Kind: info.Kind, Role: contract.Role(f.Role), Machine: harness.Target(f.Machine), Op: harness.Op(f.Op), After: f.After, Times: f.Times}
	if out.Role == "" {
		out.Role = info.Roles[0]
		if f.Machine != "" && slices.Contains(info.Roles, contract.RoleMachine) {
			out.Role = contract.RoleMachine
		}
	}
	if !slices.Contains(info.Roles, out.Role) {
		c.src.fail(path+".role", "%s happens to a %s, not to a %s", info.Kind, words(info.Roles), out.Role)
	}
	if f.Machine != "" {
		if out.Role != contract.RoleMachine {
			c.src.fail(path+".machine", "only a fault with role machine names one")
		}
		c.target(path+".machine", f.Machine, f.Machine == string(harness.TargetAll))
	}
	switch {
	case f.Op != "" && len(info.Ops) == 0:
		c.src.fail(path+".op", "%s breaks no run, so it has no op", info.Kind)
	case f.Op != "" && !slices.Contains(info.Ops, out.Op):
		c.src.fail(path+".op", "%s breaks %s, not %s", info.Kind, words(info.Ops), f.Op)
	case f.After != 0 && !info.Midway:
		c.src.fail(path+".after", "%s does not break a run midway, so it has no after", info.Kind)
	case f.Times != 0 && len(info.Ops) == 0 && info.Kind != harness.FaultCreateFails:
		c.src.fail(path+".times", "%s breaks no run, so it has no times", info.Kind)
	case f.For != "" && !info.Lasting:
		c.src.fail(path+".for", "%s does not last, so it has no for", info.Kind)
	case f.For != "":
		out.For = c.duration(path+".for", f.For, "the durations, such as 20m")
	}
	if info.Kind == harness.FaultDomainIgnored && strings.HasPrefix(f.Machine, "worker-") {
		c.src.fail(path+".machine", "workers are placed in no failure domain, so none can be ignored")
	}
	if out.Role == contract.RoleMachinePool && (c.src.file.Requires == nil || !c.src.file.Requires.Pool) {
		c.src.fail(path+".role", "a fault of the pool needs one: say requires: {pool: true}, and ask for a pool")
	}
	return out
}

// words lists values for a message.
func words[T ~string](list []T) string {
	out := make([]string, 0, len(list))
	for _, v := range list {
		out = append(out, string(v))
	}
	return strings.Join(out, " or ")
}

// target checks the form of a machine's name in a step.
func (c *checker) target(path, text string, all bool) (number int, worker bool) {
	name, worker := strings.CutPrefix(text, "worker-")
	if n, err := strconv.Atoi(name); err == nil {
		if n < 1 || n > 1000 {
			c.src.fail(path, "machines are counted from 1, and there is no machine %d", n)
		}
		return n, worker
	}
	switch harness.Target(name) {
	case harness.TargetFirst, harness.TargetLast, harness.TargetNext:
		return 1, worker
	}
	if !all && !strings.Contains(text, "-") {
		c.src.fail(path, "%q names no machine%s: it is first, last, next, all, a number, or the name of a machine", text,
			meant(text, []string{"first", "last", "next", "all"}))
	}
	return 0, worker
}

// existing checks that a machine exists by the time of a step.
func (c *checker) existing(path, text string) {
	if !c.created {
		c.src.fail(path, "there is no machine before the cluster is created")
		return
	}
	if text == string(harness.TargetNext) || text == string(harness.TargetAll) {
		c.src.fail(path, "%q is no machine that exists: name one by first, last, a number, or its name", text)
		return
	}
	number, worker := c.target(path, text, false)
	most := map[bool]int{false: c.machines, true: c.workers}[worker]
	if number > most {
		c.src.fail(path, "there is no machine %d: at most %d were created by then", number, most)
	}
}

// end checks what can only be known at the end of the story.
func (c *checker) end() {
	f := c.src.file
	if f.End != nil && f.End.Deleted && !c.deleted {
		c.src.fail("end.deleted", "the last step does not delete the cluster")
	}
	if f.End != nil && f.End.Stalled != nil && !f.End.Stalled.Optional && c.deleted {
		c.src.fail("end.stalled", "the story ends with the deletion of the cluster, so it has come past every gate; let the last step be the one that stalls")
	}
	if f.Requires != nil && f.Requires.Pool && !c.pool {
		c.src.fail("requires.pool", "the story never asks for a pool")
	}
	if !c.created && len(c.src.errs) == 0 {
		c.src.fail("steps", "no step asks for controlPlanes, so there is never a cluster")
	}
}

// stepID makes a name for a step that has none.
func stepID(s harness.Step) string {
	switch {
	case s.Fault != nil:
		return string(s.Fault.Kind)
	case s.Remediate != "":
		return "remediate"
	case s.Move:
		return "move"
	case s.Ask.Delete:
		return "delete"
	case s.Ask.DeleteControlPlane:
		return "delete-control-plane"
	case s.Ask.Upgrade:
		return "upgrade"
	case s.Ask.Template:
		return "rollout"
	case s.Ask.Endpoint != nil:
		return "endpoint"
	}
	return "scale"
}

// stepTitle makes the line of the story for a step that has none.
func stepTitle(s harness.Step) string {
	switch {
	case s.Fault != nil:
		info, _ := harness.FaultOf(s.Fault.Kind)
		return "the scenario has a fault: " + info.Title
	case s.Remediate != "":
		return "the user marks machine " + string(s.Remediate) + " for remediation"
	case s.Move:
		return "the user moves the cluster's objects to another management cluster"
	case s.Ask.Delete:
		return "the user deletes the cluster"
	}
	var parts []string
	for _, n := range []struct {
		what string
		n    *int
	}{{"control-plane machines", s.Ask.ControlPlanes}, {"workers", s.Ask.Workers}, {"pool members", s.Ask.Pool}} {
		if n.n != nil {
			parts = append(parts, fmt.Sprintf("%d %s", *n.n, n.what))
		}
	}
	for _, w := range []struct {
		on   bool
		what string
	}{
		{s.Ask.Upgrade, "the next Kubernetes version"}, {s.Ask.Topology, "for the whole topology"}, {s.Ask.Template, "another machine template"}, {s.Ask.WorkerTemplate, "another machine template for the workers"},
		{s.Ask.Endpoint != nil, "an endpoint of its own"}, {s.Ask.DeleteControlPlane, "the deletion of the control plane"},
	} {
		if w.on {
			parts = append(parts, w.what)
		}
	}
	if s.Ask.MaxSurge != nil {
		parts = append(parts, fmt.Sprintf("maxSurge %d", *s.Ask.MaxSurge))
	}
	return "the user asks for " + strings.Join(parts, ", ")
}

// alike lists the gates of the controller that a wrong id names, or the
// controllers that have gates.
func alike(id string, ids []string) string {
	who, _, _ := strings.Cut(id, "/")
	var same, whose []string
	for _, g := range ids {
		prefix, _, _ := strings.Cut(g, "/")
		if prefix == who {
			same = append(same, g)
		}
		whose = append(whose, prefix+"/")
	}
	if len(same) > 0 {
		slices.Sort(same)
		return "; those of " + who + " are " + strings.Join(slices.Compact(same), ", ")
	}
	slices.Sort(whose)
	return "; ids of gates start with " + strings.Join(slices.Compact(whose), ", ")
}
