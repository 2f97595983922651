// Package rke2 is what RKE2ControlPlane and its bootstrap provider (CAPRKE2) do,
// as tables of gates, operations, stages and registration methods for the
// harness. Each row names the row of control-planes.md that it comes from.
//
// Not in this package: what Cluster API and CAPTF do under every control
// plane, and how tables are played (package harness). Nothing outside this
// package knows RKE2.
package rke2

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// Name is the short name of the control plane.
const Name = "rke2"

// Ports of an RKE2 server. None of them follows what the Cluster asks for
// (control-planes.md 3.4, 4).
const (
	// APIPort is the API server's port on every control-plane node.
	APIPort = 6443
	// SupervisorPort is where nodes register, on control-plane nodes and on
	// whatever stands before them.
	SupervisorPort = 9345
)

// Intervals of control-planes.md 10.
const (
	requeueUninitialized = 20 * time.Second
	preflightRetry       = 15 * time.Second
	deletingRetry        = 30 * time.Second
	bootstrapRetry       = 20 * time.Second
	scaleUpRequeue       = 60 * time.Second
	clusterCacheRetry    = 30 * time.Second
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
		Name:          Name,
		Kind:          "RKE2ControlPlane",
		Distribution:  "RKE2",
		Version:       "v1.35.2+rke2r1",
		NextVersion:   "v1.36.0+rke2r1",
		OtherVersion:  "v1.35.2",
		Admit:         admit,
		Gates:         gates(),
		Operations:    operations(),
		Deletion:      deletion(),
		Initialized:   initialized(),
		Bootstrap:     bootstrap(),
		PoolBootstrap: poolBootstrap(),
		Payload:       payload,
		Packs:         true,
		Registrations: registrations(),
		Ports:         ports(),
		FixedAPIPort:  true,
		PreDrain:      preDrain(),
		PreTerminate:  preTerminate(),
		InitTime:      140 * time.Second,
		JoinTime:      90 * time.Second,
		MachineName:   machineName,
	}
}

// ports are the rows of control-planes.md 4 between nodes. Those of the CNI are
// not among them: the CNI is the user's choice.
func ports() []balancer.Needed {
	var out []balancer.Needed
	for _, p := range []balancer.Port{
		{Port: APIPort, Use: "API server"}, {Port: SupervisorPort, Use: "supervisor"},
		{Port: 2379, Use: "etcd clients"}, {Port: 2380, Use: "etcd peers"}, {Port: 2381, Use: "etcd health"}, {Port: 10250, Use: "kubelet"},
	} {
		p.Protocol = "tcp"
		out = append(out, balancer.Needed{Port: p, Requirement: "CP-022"})
	}
	return out
}

// admit is the admission of RKE2ControlPlane: even numbers are not refused, as
// KubeadmControlPlane does (control-planes.md 3.1 replicas).
func admit(w *harness.World) (refusal, warning string) {
	n := w.Spec.ControlPlanes
	switch {
	case w.Registration != nil && w.Registration.Name == methodAddress && w.RegistrationAddress == "":
		return "registrationMethod address needs a registrationAddress", ""
	case n < 1:
		return fmt.Sprintf("%d replicas, and at least 1 is needed", n), ""
	case n%2 == 0:
		return "", fmt.Sprintf("%d control-plane replicas are accepted, and etcd with %d members stands no more failures than with %d: its quorum is %d",
			n, n, n-1, n/2+1)
	}
	return "", ""
}

// machineName makes the names of a new machine: the Machine and its RKE2Config
// are named after the control plane, the TerraformMachine after the template that
// it is cloned from, each with a suffix of its own (control-planes.md 3.1 Machine naming).
func machineName(w *harness.World, rng *rand.Rand) (machine, infra string) {
	template := fmt.Sprintf("%s-control-plane-v%d", w.Cluster.Name, w.Spec.Revision)
	return w.Cluster.Name + "-" + suffix(rng), template + "-" + suffix(rng)
}

// suffix is five characters as the API server appends them to names.
func suffix(rng *rand.Rand) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, 5)
	for n := range b {
		b[n] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(b)
}

// exclusionAnnotation asks for the exclusion of a node from balancers that are
// driven from inside the cluster, before it is drained.
const exclusionAnnotation = "rke2.controlplane.cluster.x-k8s.io/load-balancer-exclusion"

// preDrain are the stages before a control-plane node is drained.
func preDrain() []harness.Stage {
	return []harness.Stage{{
		ID: "load-balancer-excluded", Source: "control-planes.md 3.1 optional pre-drain hook",
		Event: "its Node is labelled for exclusion from external load balancers: what modules made backends stays one",
		Takes: 2 * time.Second,
		When: func(w *harness.World) bool {
			return w.ControlPlane.Annotations[exclusionAnnotation] == "true"
		},
	}}
}

// preTerminate is the handshake by which the RKE2 servers themselves remove an
// etcd member.
func preTerminate() []harness.Stage {
	const source = "control-planes.md 3.1 etcd removal on delete"
	return []harness.Stage{
		{
			ID: "etcd-removal-asked", Source: source,
			Event: "its Node is annotated etcd.rke2.cattle.io/remove=true: the RKE2 servers remove the member themselves",
			Takes: 2 * time.Second,
		},
		{
			ID: "etcd-member-removed", Source: source,
			Event: "its Node carries etcd.rke2.cattle.io/removed-node-name: its API server has stopped while it is still a backend",
			Takes: deletingRetry, Stops: true,
		},
	}
}
