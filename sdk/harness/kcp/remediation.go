package kcp

import "github.com/captf-toolkit/captf/sdk/harness"

// remediation are the conditions of control-planes.md 2.6 under which an
// initialised control plane deletes a machine that is unhealthy. One that is not
// initialised needs none: its one broken machine is deleted, and another starts
// the control plane anew.
func remediation() []harness.Check {
	row := func(id, waitsFor string, open func(w *harness.World) (bool, any)) harness.Check {
		return harness.Check{
			Gate: harness.Gate{ID: "kcp/remediation-" + id, WaitsFor: waitsFor, Source: "control-planes.md 2.6", Retry: preflightRetry},
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
		row("etcd-readable", "a list of etcd's members, read through the endpoint", func(w *harness.World) (bool, any) {
			return w.Connected && reachable(w), nil
		}),
		row("quorum", "enough healthy control-plane Machines to keep one, and etcd's quorum, without the unhealthy one", func(w *harness.World) (bool, any) {
			return w.KeepsQuorum(), nil
		}),
	}
}
