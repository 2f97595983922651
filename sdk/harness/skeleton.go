package harness

// What control-plane providers of one descent have in common: which machine
// goes first.

// OutdatedControlPlane tells that a control-plane machine was made from an
// older template than the present one.
func (w *World) OutdatedControlPlane() bool { return len(w.outdated()) > 0 }

func (w *World) outdated() []*Machine {
	return w.MachinesWhere(func(m *Machine) bool { return m.ControlPlane && w.Outdated(m) })
}

// Victim is the control-plane machine to delete in a rollout or when scaling
// down: outdated ones first, then in the failure domain with most machines, the
// oldest (control-planes.md 2.4). It is nil when there is none.
func (w *World) Victim() *Machine {
	candidates := w.outdated()
	if len(candidates) == 0 {
		candidates = w.ControlPlaneMachines()
	}
	count := map[string]int{}
	for _, m := range candidates {
		count[m.domain()]++
	}
	var best *Machine
	for _, m := range candidates { // oldest first
		if best == nil || count[m.domain()] > count[best.domain()] {
			best = m
		}
	}
	return best
}

// domain returns the failure domain that the machine shall be in, "" for none.
func (m *Machine) domain() string {
	if m.FailureDomain == nil {
		return ""
	}
	return *m.FailureDomain
}

// RemediationCandidate is the unhealthy control-plane machine to delete first:
// one without a Node, then the oldest (control-planes.md 2.6). It is nil when
// there is none.
func (w *World) RemediationCandidate() *Machine {
	var best *Machine
	for _, m := range w.ControlPlaneMachines() { // oldest first
		if m.Unhealthy == "" || m.Deleting {
			continue
		}
		if best == nil || best.Node != nil && m.Node == nil {
			best = m
		}
	}
	return best
}

// KeepsQuorum tells that etcd keeps its quorum, and the control plane a healthy
// machine, when an unhealthy machine is removed (control-planes.md 2.6).
func (w *World) KeepsQuorum() bool {
	members, healthy := 0, 0
	for _, m := range w.ControlPlaneMachines() {
		if m.Node == nil {
			continue // it never became a member
		}
		members++
		if m.Serves() {
			healthy++
		}
	}
	candidate := w.RemediationCandidate()
	if candidate == nil {
		return true
	}
	if candidate.Node != nil {
		members--
		if candidate.Serves() {
			healthy--
		}
	}
	return healthy >= 1 && healthy >= members/2+1
}
