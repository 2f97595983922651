package rke2

import "github.com/captf-toolkit/captf/sdk/harness"

// remediation are the conditions under which an initialised control plane
// deletes a machine that is unhealthy: those of KubeadmControlPlane, but for a
// healthy machine that must be there to receive etcd's leadership. One that is
// not initialised needs none: its one broken machine is deleted, and another
// starts the control plane anew.
func remediation() []harness.Check {
	row := func(id, waitsFor string, open func(w *harness.World) (bool, any)) harness.Check {
		return harness.Check{
			Gate: harness.Gate{ID: "rke2/remediation-" + id, WaitsFor: waitsFor, Source: "control-planes.md 3.1 remediation", Retry: preflightRetry},
			Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
				if !w.ControlPlane.Initialized {
					return true, nil
				}
				return open(w)
			},
		}
	}
	return []harness.Check{
		row("several-machines", "another control-plane Machine: a single one is never remediated", func(w *harness.World) (bool, any) {
			return len(w.ControlPlaneMachines()) > 1, nil
		}),
		row("nodes", "a Node for every healthy control-plane Machine", func(w *harness.World) (bool, any) {
			for _, m := range w.ControlPlaneMachines() {
				if m.Node == nil && m.Unhealthy == "" {
					return false, m
				}
			}
			return true, nil
		}),
		row("none-deleting", "the end of the deletion of a control-plane Machine", func(w *harness.World) (bool, any) {
			for _, m := range w.ControlPlaneMachines() {
				if m.Deleting {
					return false, m
				}
			}
			return true, nil
		}),
		row("leadership", "a healthy control-plane Machine that can receive etcd's leadership", func(w *harness.World) (bool, any) {
			for _, m := range w.ControlPlaneMachines() {
				if m.Unhealthy == "" && !m.Deleting && m.Serves() {
					return reachable(w), nil
				}
			}
			return false, nil
		}),
		row("quorum", "members that are healthy and have a Machine in a number of at least half of all and one", func(w *harness.World) (bool, any) {
			return w.KeepsQuorum(), nil
		}),
	}
}
