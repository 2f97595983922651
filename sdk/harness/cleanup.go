package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/requirements"
)

// cleanUpTime bounds the destruction of what is left at the end.
const cleanUpTime = 15 * time.Minute

// leftover is an object whose infrastructure may still exist.
type leftover struct {
	role   contract.Role
	object string
	in     contract.Inputs
}

// leftovers returns what exists at the end of the story: machines and pools
// first, clusters last.
func (p *play) leftovers() (members, clusters []leftover) {
	add := func(l leftover) {
		if l.role == contract.RoleCluster {
			clusters = append(clusters, l)
			return
		}
		members = append(members, l)
	}
	infra := func(i *Infra) {
		if i.Inputs != nil && !i.Gone {
			add(leftover{i.Role, i.Name, i.Inputs})
		}
	}
	for _, m := range p.w.Machines {
		infra(m.Infra)
	}
	if p.w.Pool != nil {
		infra(p.w.Pool.Infra)
	}
	infra(p.w.Infra)
	for _, d := range p.drills {
		for _, object := range slices.Sorted(maps.Keys(d.live)) {
			add(leftover{d.role, object, d.live[object]})
		}
	}
	return members, clusters
}

// cleanUp destroys what is left, unless it shall be kept, and returns the
// objects that still exist. It goes on when the run was interrupted.
func (p *play) cleanUp() []string {
	members, clusters := p.leftovers()
	if p.cfg.Keep || p.forced() || p.ctx.Err() != nil && p.cfg.KeepOnInterrupt {
		return names(append(members, clusters...))
	}
	if len(members)+len(clusters) == 0 {
		return nil
	}
	p.tell(EventCleanUp, "harness", "Cluster/"+p.w.Cluster.Name, fmt.Sprintf("destroys what is left: %d objects", len(members)+len(clusters)))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), cleanUpTime)
	defer cancel()
	left := p.destroyAll(ctx, members)
	return append(left, p.destroyAll(ctx, clusters)...)
}

// forced tells that everything is to be stopped at once.
func (p *play) forced() bool {
	select {
	case <-p.cfg.Force:
		return true
	default:
		return false
	}
}

// destroyAll destroys objects in parallel and returns those that would not go.
func (p *play) destroyAll(ctx context.Context, objects []leftover) []string {
	stays, places := make([]string, len(objects)), make([]string, len(objects))
	var wg sync.WaitGroup
	for n, l := range objects {
		wg.Go(func() {
			run, err := p.call(ctx, OpDestroy, l.role, l.object, l.in)
			switch {
			case err != nil:
				stays[n] = err.Error()
			case run.Failed:
				places[n], stays[n] = errorAt(run)
			}
		})
	}
	wg.Wait()
	var left []leftover
	for n, l := range objects {
		if stays[n] != "" && !p.forced() {
			p.rec.note(l.role, places[n], "%s/%s could not be destroyed: %s", l.role.Kind(), l.object, stays[n])
		}
		if stays[n] != "" {
			left = append(left, l)
		}
	}
	return names(left)
}

func names(objects []leftover) []string {
	out := make([]string, 0, len(objects))
	for _, l := range objects {
		out = append(out, l.role.Kind()+"/"+l.object)
	}
	return out
}

// result puts together what the run found.
func (p *play) result(left []string) *Result {
	notReached := ""
	switch {
	case p.stalled != nil:
		notReached = "the run stalled at " + p.stalled.Gate
	case p.failedRun != "":
		notReached = p.failedRun
	case p.err != nil:
		notReached = "the run was broken off"
	case p.stopped:
		notReached = "the module breaks the contract"
	}
	r := &Result{
		Verdict: VerdictPassed, Scenario: p.cfg.Scenario.ID, ControlPlane: p.cp.Name, Seed: p.cfg.Seed, Runtime: p.cfg.Runtime,
		Stalled: p.stalled, Requirements: p.rec.requirements(notReached), Notes: p.rec.notes, Steps: p.withWaits(),
		Title: p.cfg.Scenario.Title, Contract: p.cfg.Definition.Version(),
		Objects: p.made.report(func(name string) bool { return strings.HasPrefix(name, p.probeName("")) }),
		Modules: map[contract.Role]string{}, Left: left, LoadBalancer: p.loadBalancer(),
		Timing: Timing{Runtime: p.runs.busy.Seconds(), Runs: p.runs.count},
	}
	if p.w.Registration != nil {
		r.Registration = p.w.Registration.Name
	}
	for _, role := range p.cfg.Modules.Roles() {
		info := p.cfg.Modules.Module(role)
		r.Modules[role] = info.Dir
		if m := info.Membership; m != nil {
			if r.Membership == nil {
				r.Membership = map[contract.Role]MembershipInfo{}
			}
			r.Membership[role] = MembershipInfo{Pattern: m.Pattern, Declared: m.Declared, Members: memberAddresses(m)}
		}
	}
	// A story that did not come to its end is no pass, whatever is allowed: allowing a requirement only
	// keeps a story that went on from failing.
	failed := p.stopped && !p.declined || len(left) > 0 && !p.cfg.Keep
	for _, q := range r.Requirements {
		failed = failed || q.Status == StatusFailed
	}
	if failed {
		r.Verdict = VerdictFailed
	}
	return r
}

func memberAddresses(m *Membership) []string {
	var out []string
	for _, member := range m.Members {
		address := member.Address
		if len(member.Path) > 0 {
			address += "." + strings.Join(member.Path, ".")
		}
		out = append(out, address)
	}
	return out
}

// remedyOf returns what an author does about a failed requirement.
func (p *play) remedyOf(id string) string {
	if row, ok := requirements.Get(id); ok {
		return row.Remedy
	}
	return remedyOf(id)
}

// destroyed judges a destroy of the story that succeeded.
func (p *play) destroyed(i *Infra) {
	switch i.Role {
	case contract.RoleCluster:
		p.rec.pass("CP-025", i.Role, "destroy after every machine is gone succeeds")
		p.noteProtection()
	case contract.RoleMachine:
		p.deleted++
		p.leave(i)
		p.rec.pass("CP-039", i.Role, "destroy with the recorded inputs succeeds")
	}
}

// noteProtection says that the cluster was destroyed with its protection
// lifted, which somebody has to do for a real deletion too (authoring.md 6).
func (p *play) noteProtection() {
	for _, r := range p.cfg.Modules.Module(contract.RoleCluster).Protected {
		p.rec.note(contract.RoleCluster, r.Range,
			"%s has prevent_destroy: the harness destroys with it lifted, in a copy of the module; the deletion of a real cluster fails until it is lifted, so let the README say how (CP-005)", r.Address)
	}
}
