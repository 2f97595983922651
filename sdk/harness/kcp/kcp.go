// Package kcp is what KubeadmControlPlane and the kubeadm bootstrap provider
// do, as tables of gates, operations and stages for the harness. Each row
// names the row of control-planes.md that it comes from.
//
// Not in this package: what Cluster API and CAPTF do under every control
// plane, and how tables are played (package harness). Nothing outside this
// package knows kubeadm.
package kcp

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// Name is the short name of the control plane.
const Name = "kcp"

// Intervals of control-planes.md 10.
const (
	requeueUninitialized = 20 * time.Second
	preflightRetry       = 15 * time.Second
	deletingRetry        = 30 * time.Second
	bootstrapRetry       = 30 * time.Second
	clusterCacheRetry    = 30 * time.Second
	tokenRotation        = 10 * time.Minute
)

// New returns the control plane.
func New() *harness.ControlPlane {
	cp := table()
	cp.Scenarios = scenarios()
	return cp
}

// table is everything but the scenarios.
func table() *harness.ControlPlane {
	return &harness.ControlPlane{
		Name:         Name,
		Kind:         "KubeadmControlPlane",
		Distribution: "kubeadm",
		Version:      "v1.35.2",
		NextVersion:  "v1.36.0",
		OtherVersion: "v1.35.2+rke2r1",
		Admit:        admit,
		Gates:        gates(),
		Operations:   operations(),
		Deletion:     deletion(),
		Initialized:  initialized(),
		Bootstrap:    bootstrap(),
		PoolBootstrap: []harness.Check{
			infrastructureForBootstrap(), initializedForBootstrap(),
		},
		Payload: payload,
		Rotates: tokenRotation,
		PreTerminate: []harness.Stage{
			{ID: "leadership-moved", Source: "control-planes.md 2.5 #4", Event: "etcd leadership is moved away", Takes: 2 * time.Second},
			{ID: "etcd-member-removed", Source: "control-planes.md 2.5 #4", Event: "etcd member is removed: its API server stops while it is still a backend", Takes: deletingRetry, Stops: true},
		},
		Ports:       ports(),
		FinishInit:  finishInit,
		InitTime:    100 * time.Second,
		JoinTime:    70 * time.Second,
		MachineName: machineName,
	}
}

// machineName makes one name for the Machine and its TerraformMachine, as
// KubeadmControlPlane does (control-planes.md 2.2).
func machineName(w *harness.World, rng *rand.Rand) (machine, infra string) {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, 5)
	for n := range b {
		b[n] = alphabet[rng.IntN(len(alphabet))]
	}
	name := w.Cluster.Name + "-" + string(b)
	return name, name
}

// gates are the rows of control-planes.md 2.1 before any operation.
func gates() []harness.Check {
	return []harness.Check{
		{
			Gate: harness.Gate{
				ID: "kcp/infrastructure-provisioned", WaitsFor: "Cluster.status.initialization.infrastructureProvisioned",
				Source: "control-planes.md 2.1 #4",
				Role:   contract.RoleCluster, Output: "health", Requirement: "CP-006",
			},
			Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
				return w.Cluster.InfrastructureProvisioned, w.Infra
			},
		},
		{
			Gate: harness.Gate{
				ID: "kcp/endpoint-valid", WaitsFor: "Cluster.spec.controlPlaneEndpoint with host and port",
				Source: "control-planes.md 2.1 #6", Retry: requeueUninitialized,
				Role: contract.RoleCluster, Output: "control_plane_endpoint", Requirement: "CP-001",
				Remedy: "emit control_plane_endpoint with host and port, or give the Cluster an endpoint (--user-endpoint HOST:PORT)",
			},
			Open: func(w *harness.World, _ *harness.Machine) (bool, any) { return w.Cluster.Endpoint.Valid(), nil },
		},
	}
}

// admit is the admission of KubeadmControlPlane (control-planes.md 2.4, 2.10).
func admit(w *harness.World) (refusal, warning string) {
	switch n := w.Spec.ControlPlanes; {
	case n < 1:
		return fmt.Sprintf("%d replicas, and at least 1 is needed", n), ""
	case n%2 == 0:
		return fmt.Sprintf("%d replicas, and with etcd on the control-plane nodes the number must be odd", n), ""
	case w.Bootstrap.Gzip:
		return "bootstrap data packed with gzip, which the kubeadm bootstrap provider never makes", ""
	case w.Bootstrap.Format != "" && w.Bootstrap.Format != "cloud-config":
		return fmt.Sprintf("bootstrap format %s, which is off by default (feature gate KubeadmBootstrapFormatIgnition)", w.Bootstrap.Format), ""
	}
	return "", ""
}

// deletion are the gates before the control plane deletes its own machines
// (control-planes.md 2.9).
func deletion() []harness.Check {
	return []harness.Check{{
		Gate: harness.Gate{
			ID: "kcp/others-gone", WaitsFor: "the deletion of every Machine and MachinePool that is not the control plane's",
			Source: "control-planes.md 2.9", Retry: deletingRetry,
		},
		Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
			if workers := w.Workers(); len(workers) > 0 {
				return false, workers[0]
			}
			if w.Pool != nil {
				return false, w.Pool
			}
			return true, nil
		},
	}}
}

// operations are steps 14 and 15 of control-planes.md 2.1; the first that is
// due is the only one of a pass.
func operations() []harness.Operation {
	preflight := preflight()
	return []harness.Operation{
		{
			ID: "remediate", Source: "control-planes.md 2.6", Remediates: true,
			When:      func(w *harness.World) bool { return w.RemediationCandidate() != nil },
			Preflight: remediation(), Victim: (*harness.World).RemediationCandidate,
		},
		{
			ID:     "init",
			Source: "control-planes.md 2.1 #15",
			When:   func(w *harness.World) bool { return len(w.ControlPlaneMachines()) == 0 && w.Spec.ControlPlanes > 0 },
			Create: &harness.CreateRow{Init: true},
		},
		{
			ID:     "rollout-create",
			Source: "control-planes.md 2.4",
			When: func(w *harness.World) bool {
				return w.OutdatedControlPlane() && len(w.ControlPlaneMachines()) < w.Spec.ControlPlanes+w.Spec.MaxSurge
			},
			Preflight: preflight, Create: &harness.CreateRow{},
		},
		{
			ID:        "rollout-delete",
			Source:    "control-planes.md 2.4",
			When:      func(w *harness.World) bool { return w.OutdatedControlPlane() },
			Preflight: preflight, Victim: (*harness.World).Victim,
		},
		{
			ID:        "scale-up",
			Source:    "control-planes.md 2.1 #15",
			When:      func(w *harness.World) bool { return len(w.ControlPlaneMachines()) < w.Spec.ControlPlanes },
			Preflight: preflight, Create: &harness.CreateRow{},
		},
		{
			ID:        "scale-down",
			Source:    "control-planes.md 2.1 #15",
			When:      func(w *harness.World) bool { return len(w.ControlPlaneMachines()) > w.Spec.ControlPlanes },
			Preflight: preflight, Victim: (*harness.World).Victim,
		},
	}
}

// preflight are the checks of control-planes.md 2.3.
func preflight() []harness.Check {
	return []harness.Check{
		{
			Gate: harness.Gate{
				ID: "kcp/no-machine-deleting", WaitsFor: "the end of the deletion of a control-plane Machine",
				Source: "control-planes.md 2.3", Retry: deletingRetry,
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
				ID: "kcp/machines-have-nodes", WaitsFor: "status.nodeRef on every control-plane Machine",
				Source: "control-planes.md 2.3", Retry: preflightRetry,
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
				ID: "kcp/control-plane-healthy", WaitsFor: "APIServerPodHealthy and EtcdMemberHealthy on every control-plane Machine, seen through the endpoint",
				Source: "control-planes.md 2.3", Retry: preflightRetry,
				Role: contract.RoleCluster, Output: "control_plane_endpoint", Requirement: "CP-021",
			},
			Open: func(w *harness.World, victim *harness.Machine) (bool, any) {
				// While a machine is remediated one that is healthy is enough.
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

// initialized is control-planes.md 2.7: the ConfigMap kubeadm-config is read
// through the endpoint.
func initialized() harness.Check {
	return harness.Check{
		Gate: harness.Gate{
			ID: "kcp/initialized", WaitsFor: "ConfigMap kube-system/kubeadm-config, read through the endpoint",
			Source: "control-planes.md 2.7", Retry: clusterCacheRetry,
			Role: contract.RoleCluster, Output: "control_plane_endpoint", Requirement: "CP-021",
		},
		Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
			if w.Started {
				return reachable(w), nil
			}
			for _, m := range w.ControlPlaneMachines() {
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

// ports are the rows of control-planes.md 4 between nodes; those of etcd and the
// kubelet have a requirement of their own, because KubeadmControlPlane itself
// reaches etcd through them (control-planes.md 2.8).
func ports() []balancer.Needed {
	tcp := func(port int, use, requirement string) balancer.Needed {
		return balancer.Needed{Port: balancer.Port{Port: port, Protocol: "tcp", Use: use}, Requirement: requirement}
	}
	return []balancer.Needed{
		tcp(6443, "API server", "CP-022"),
		tcp(2379, "etcd clients", "CP-058"),
		tcp(2380, "etcd peers", "CP-058"),
		tcp(10250, "kubelet", "CP-058"),
	}
}

// finishInit is control-planes.md 2.11: the first node's admin.conf and
// kubelet.conf point at the endpoint, so it has to reach itself through it.
func finishInit(w *harness.World, m *harness.Machine) balancer.Reach {
	return w.Reach(m.Name, balancer.ListenerAPI)
}

// bootstrap are the rows of control-planes.md 2.10 for Machines.
func bootstrap() []harness.Check {
	initializedOrFirst := initializedForBootstrap()
	open := initializedOrFirst.Open
	initializedOrFirst.Open = func(w *harness.World, m *harness.Machine) (bool, any) {
		if m.Init {
			return true, nil // the first machine holds the init lock
		}
		return open(w, m)
	}
	return []harness.Check{infrastructureForBootstrap(), initializedOrFirst}
}

func infrastructureForBootstrap() harness.Check {
	return harness.Check{
		Gate: harness.Gate{
			ID: "cabpk/infrastructure-provisioned", WaitsFor: "Cluster.status.initialization.infrastructureProvisioned",
			Source: "control-planes.md 2.10",
		},
		Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
			return w.Cluster.InfrastructureProvisioned, w.Infra
		},
	}
}

func initializedForBootstrap() harness.Check {
	return harness.Check{
		Gate: harness.Gate{
			ID: "cabpk/control-plane-initialized", WaitsFor: "Cluster.status.initialization.controlPlaneInitialized",
			Source: "control-planes.md 2.10", Retry: bootstrapRetry,
		},
		Open: func(w *harness.World, _ *harness.Machine) (bool, any) {
			return w.Cluster.ControlPlaneInitialized, &w.ControlPlane.Initialized
		},
	}
}
