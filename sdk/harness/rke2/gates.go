package rke2

import (
	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// gates are the early gates in their order: infrastructure, certificates,
// endpoint, kubeconfig; machines come after them.
func gates() []harness.Check {
	const source = "control-planes.md 3.1 order of early gates"
	return []harness.Check{
		{
			Gate: harness.Gate{
				ID: "rke2/infrastructure-provisioned", WaitsFor: "Cluster.status.initialization.infrastructureProvisioned",
				Source: source, Retry: requeueUninitialized,
				Role: contract.RoleCluster, Output: "health", Requirement: "CP-006",
			},
			Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
				return w.Cluster.InfrastructureProvisioned, w.Infra
			},
		},
		{
			Gate: harness.Gate{
				ID: "rke2/certificates", WaitsFor: "the cluster's certificates, which the provider makes itself until the control plane is initialised",
				Source: source, Retry: requeueUninitialized,
			},
			// The provider makes them in the same pass. No module has to do with it.
			Open: func(*harness.World, *harness.Machine) (bool, any) { return true, nil },
		},
		{
			Gate: harness.Gate{
				ID: "rke2/endpoint-valid", WaitsFor: "Cluster.spec.controlPlaneEndpoint with host and port",
				Source: source, Retry: requeueUninitialized,
				Role: contract.RoleCluster, Output: "control_plane_endpoint", Requirement: "CP-001",
				Remedy: "emit control_plane_endpoint with host and port, or give the Cluster an endpoint (--user-endpoint HOST:PORT)",
			},
			Open: func(w *harness.World, _ *harness.Machine) (bool, any) { return w.Cluster.Endpoint.Valid(), nil },
		},
		{
			Gate: harness.Gate{
				ID: "rke2/kubeconfig", WaitsFor: "the Secret with the cluster's kubeconfig, whose server is the endpoint",
				Source: source, Retry: requeueUninitialized,
			},
			// The provider writes it in the same pass, from the certificates and the endpoint.
			Open: func(w *harness.World, _ *harness.Machine) (bool, any) { return w.Cluster.Endpoint.Valid(), nil },
		},
	}
}

// operations are what the control plane does, at most one of them a pass.
func operations() []harness.Operation {
	preflight := preflight()
	return []harness.Operation{
		{
			ID: "remediate", Source: "control-planes.md 3.1 remediation", Remediates: true,
			When:      func(w *harness.World) bool { return w.RemediationCandidate() != nil },
			Preflight: remediation(), Victim: (*harness.World).RemediationCandidate,
		},
		{
			ID: "init", Source: "control-planes.md 3.1 init guard",
			When:      func(w *harness.World) bool { return len(w.ControlPlaneMachines()) == 0 && w.Spec.ControlPlanes > 0 },
			Preflight: []harness.Check{initGuard()}, Create: &harness.CreateRow{Init: true}, Requeue: scaleUpRequeue,
		},
		{
			ID: "rollout-create", Source: "control-planes.md 3.1 rollout",
			When: func(w *harness.World) bool {
				return w.OutdatedControlPlane() && len(w.ControlPlaneMachines()) < w.Spec.ControlPlanes+w.Spec.MaxSurge
			},
			Preflight: append([]harness.Check{initializedForRollout()}, preflight...), Create: &harness.CreateRow{}, Requeue: scaleUpRequeue,
		},
		{
			ID: "rollout-delete", Source: "control-planes.md 3.1 rollout",
			When:      (*harness.World).OutdatedControlPlane,
			Preflight: append([]harness.Check{initializedForRollout()}, preflight...), Victim: (*harness.World).Victim,
		},
		{
			ID: "scale-up", Source: "control-planes.md 3.1 after scale up",
			When:      func(w *harness.World) bool { return len(w.ControlPlaneMachines()) < w.Spec.ControlPlanes },
			Preflight: preflight, Create: &harness.CreateRow{}, Requeue: scaleUpRequeue,
		},
		{
			ID: "scale-down", Source: "control-planes.md 3.1 preflight",
			When:      func(w *harness.World) bool { return len(w.ControlPlaneMachines()) > w.Spec.ControlPlanes },
			Preflight: preflight, Victim: (*harness.World).Victim,
		},
	}
}

// initGuard is the uncached read of owned Machines before the first create.
func initGuard() harness.Check {
	return harness.Check{
		Gate: harness.Gate{
			ID: "rke2/init-guard", WaitsFor: "a live read that finds no control-plane Machine of this control plane",
			Source: "control-planes.md 3.1 init guard", Retry: preflightRetry,
		},
		Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
			if owned := w.ControlPlaneMachines(); len(owned) > 0 {
				return false, owned[0]
			}
			return true, nil
		},
	}
}

func initializedForRollout() harness.Check {
	return harness.Check{
		Gate: harness.Gate{
			ID: "rke2/initialized-for-rollout", WaitsFor: "an initialised control plane: an upgrade is refused before",
			Source: "control-planes.md 3.1 rollout", Retry: requeueUninitialized,
		},
		Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
			return w.ControlPlane.Initialized, &w.ControlPlane.Initialized
		},
	}
}

// preflight are the checks before a machine is added or removed.
func preflight() []harness.Check {
	const source = "control-planes.md 3.1 preflight"
	return []harness.Check{
		{
			Gate: harness.Gate{
				ID: "rke2/no-machine-deleting", WaitsFor: "the end of the deletion of a control-plane Machine",
				Source: source, Retry: deletingRetry,
			},
			Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
				for _, m := range w.ControlPlaneMachines() {
					if m.Deleting {
						return false, m
					}
				}
				return true, nil
			},
		},
		{
			Gate: harness.Gate{
				ID: "rke2/machines-have-nodes", WaitsFor: "status.nodeRef on every control-plane Machine: until then all their conditions are Unknown",
				Source: "control-planes.md 3.1 Machines without Node", Retry: preflightRetry,
			},
			Open: func(w *harness.World, victim *harness.Machine) (bool, any) {
				for _, m := range w.ControlPlaneMachines() {
					if m.Node == nil && m != victim && !w.ControlPlane.Remediating {
						return false, m
					}
				}
				return true, nil
			},
		},
		{
			Gate: harness.Gate{
				ID: "rke2/control-plane-healthy", WaitsFor: "AgentHealthy and EtcdMemberHealthy on every control-plane Machine, seen through the endpoint",
				Source: source, Retry: preflightRetry,
				Role: contract.RoleCluster, Output: "control_plane_endpoint", Requirement: "CP-021",
			},
			Open: func(w *harness.World, victim *harness.Machine) (bool, any) {
				// AgentHealthy is the Node's Ready. While a machine is remediated one that is healthy is enough.
				for _, m := range w.ControlPlaneMachines() {
					if m.Node != nil && !m.Serves() && m != victim && !w.ControlPlane.Remediating {
						return false, m
					}
				}
				return w.Connected && reachable(w), nil
			},
		},
	}
}

// initialized is the Secret rke2-serving, read through the endpoint, or every
// owned Machine being Ready.
func initialized() harness.Check {
	return harness.Check{
		Gate: harness.Gate{
			ID: "rke2/initialized", WaitsFor: "Secret kube-system/rke2-serving, read through the endpoint, or every control-plane Machine being Ready",
			Source: "control-planes.md 3.2 controlPlaneInitialized", Retry: clusterCacheRetry,
			Role: contract.RoleCluster, Output: "control_plane_endpoint", Requirement: "CP-021",
		},
		Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
			machines := w.ControlPlaneMachines()
			ready := 0
			for _, m := range machines {
				if m.Ready() {
					ready++
				}
				for _, n := range w.Nodes {
					if m.Init && m.Name == n.Name {
						if m.Node == nil {
							return reachable(w), m
						}
						return reachable(w), nil
					}
				}
			}
			if ready > 0 && ready == len(machines) {
				return true, nil
			}
			for _, m := range machines {
				if m.Node == nil {
					return false, m
				}
			}
			return false, nil
		},
	}
}

// reachable tells that the management cluster reaches the workload cluster's API.
func reachable(w *harness.World) bool {
	return w.Reach(balancer.Management, balancer.ListenerAPI).OK
}

// bootstrap are the gates before a Machine's RKE2Config has its data.
func bootstrap() []harness.Check {
	checks := []harness.Check{infrastructureForBootstrap()}
	for _, c := range joinChecks() {
		open := c.Open
		c.Open = func(w *harness.World, m *harness.Machine) (bool, any) {
			if m.Init {
				return true, nil // the first machine holds the init lock
			}
			return open(w, m)
		}
		checks = append(checks, c)
	}
	return checks
}

// poolBootstrap are the gates before a pool's RKE2Config has its data.
func poolBootstrap() []harness.Check {
	return append([]harness.Check{infrastructureForBootstrap()}, joinChecks()...)
}

func infrastructureForBootstrap() harness.Check {
	return harness.Check{
		Gate: harness.Gate{
			ID: "caprke2/infrastructure-provisioned", WaitsFor: "Cluster.status.initialization.infrastructureProvisioned",
			Source: "control-planes.md 1 cluster provisioned",
		},
		Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
			return w.Cluster.InfrastructureProvisioned, w.Infra
		},
	}
}

// joinChecks are what everything that joins waits for, control-plane machines,
// workers and pools alike: an initialised control plane, and a server to join at.
// The one list that the provider waits for, status.availableServerIPs, is looked at
// in two steps, because it is empty for two reasons.
func joinChecks() []harness.Check {
	const source = "control-planes.md 3.2 joins"
	return []harness.Check{
		{
			Gate: harness.Gate{
				ID: "caprke2/control-plane-initialized", WaitsFor: "Cluster.status.initialization.controlPlaneInitialized",
				Source: "control-planes.md 3.4 worker before init", Retry: bootstrapRetry,
			},
			Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
				return w.Cluster.ControlPlaneInitialized, &w.ControlPlane.Initialized
			},
		},
		{
			Gate: harness.Gate{
				ID:       "caprke2/machine-ready",
				WaitsFor: "RKE2ControlPlane.status.availableServerIPs, which is empty while no control-plane Machine is Ready: infrastructure that is Ready, and a Node with its provider id",
				Source:   source, Retry: bootstrapRetry,
				Role: contract.RoleMachine, Output: "health", Requirement: "CP-054",
				Remedy: "report running and healthy once the instance exists: a health that is unknown, stopped or not healthy keeps every other node of the cluster from joining",
			},
			Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
				if len(w.ControlPlane.Servers) > 0 {
					return true, nil
				}
				for _, m := range w.ControlPlaneMachines() {
					if m.Ready() {
						return true, nil
					}
				}
				for _, m := range w.ControlPlaneMachines() {
					return false, m
				}
				return false, &w.ControlPlane
			},
		},
		{
			Gate: harness.Gate{
				ID:       "caprke2/server-addresses",
				WaitsFor: "RKE2ControlPlane.status.availableServerIPs: no address of a Ready control-plane Machine is of the type that the registration method takes",
				Source:   source, Retry: bootstrapRetry,
				Role: contract.RoleMachine, Output: "addresses", Requirement: "CP-043",
			},
			Open: func(w *harness.World, _ *harness.Machine) (bool, any) { return len(w.ControlPlane.Servers) > 0, nil },
		},
	}
}

// deletion is the gate before the control plane deletes its own machines:
// MachinePools are not waited for.
func deletion() []harness.Check {
	return []harness.Check{{
		Gate: harness.Gate{
			ID: "rke2/workers-gone", WaitsFor: "the deletion of every worker Machine; MachinePools are not counted",
			Source: "control-planes.md 3.1 delete RCP", Retry: deletingRetry,
		},
		Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
			if workers := w.Workers(); len(workers) > 0 {
				return false, workers[0]
			}
			return true, nil
		},
	}}
}
