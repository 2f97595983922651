package harness

import (
	"time"

	"github.com/captf-toolkit/captf/contract"
)

// Scenario is a story to play: steps that each change what the user asks for,
// or let something go wrong, and wait for what comes of it. It is plain data;
// package scenario reads it from files.
type Scenario struct {
	// ID is life, an id of control-planes.md 9 such as K4, or a fault's such as fault-killed.
	ID string
	// Title says in a few words what is played.
	Title string
	// Source is where the scenario comes from, such as "control-planes.md 9.1 K4".
	Source string
	// ControlPlanes are the short names of the control planes that it can be played with; nil means all.
	ControlPlanes []string
	// Steps are played in order; deletion of everything that is left follows
	// the last one without checks, unless a step asks for it.
	Steps []Step
	// Race fixes who comes first when the control plane has initialised: the
	// cluster's re-apply or the next machine; "" leaves it to the seed (K3).
	Race Race
	// Registration is the registration method that the scenario is about; ""
	// leaves it to the user.
	Registration string
	// RegistrationAddress is the host for joining that the user gives.
	RegistrationAddress string
	// Annotations are those of the control-plane object.
	Annotations map[string]string
	// Bootstrap is how bootstrap data is written.
	Bootstrap BootstrapOptions
	// APIServerPort is the API server's port that the user asks for; 0 asks for none.
	APIServerPort int64
	// HairpinOff makes the balancer lead no backend back to itself (CP-020).
	HairpinOff bool
	// Endpoint says who gives the Cluster its endpoint, and when; "" is the module.
	Endpoint EndpointMode
	// HealthCheck tells that a MachineHealthCheck watches all machines, with
	// Cluster API's default times.
	HealthCheck bool
	// Probes tells that the probes run beside the story: module runs on objects
	// of their own that try what the story does not.
	Probes bool
	// Pool tells that the story needs a pool.
	Pool bool
	// Asserts are the requirements that the scenario is there to judge.
	Asserts []string
	// Stalls is the stall that the story is expected to end with; nil when it is
	// to reach what is asked for.
	Stalls *ExpectedStall
	// File is where the scenario was read from; "" for one that is built in.
	File string
	// Text is the file of one that is built in.
	Text string
}

// ExpectedStall is a stall that a scenario is about: it passes when exactly
// that happens.
type ExpectedStall struct {
	// Gate is the id of the gate that never opens.
	Gate string
	// Requirement is the id that the stall is blamed on; "" accepts any.
	Requirement string
	// Optional tells that the story may as well come to its end: which of the two
	// happens is a choice of the modules.
	Optional bool
}

// Race is an order of two writes that become possible at the same time.
type Race string

// The orders of the writes after initialisation.
const (
	RaceClusterFirst Race = "cluster-first"
	RaceMachineFirst Race = "machine-first"
)

// EndpointMode says who gives the Cluster its endpoint.
type EndpointMode string

// The modes of an endpoint.
const (
	// EndpointModule: the cluster module emits it.
	EndpointModule EndpointMode = "module"
	// EndpointUser: the user gives it from the start (K11).
	EndpointUser EndpointMode = "user"
	// EndpointLate: the module emits none, and a step gives one later (K12). What
	// the module emits is left out until then.
	EndpointLate EndpointMode = "late"
	// EndpointNever: the module emits none, and nobody gives one (K16). What the
	// module emits is left out.
	EndpointNever EndpointMode = "never"
)

// Step is one thing that happens in a scenario: exactly one of Ask, Fault,
// Remediate and Move is set.
type Step struct {
	// ID names the step, such as scale-up.
	ID string
	// Title is the story's line for it.
	Title string
	// Ask changes what the user asks for.
	Ask *Ask
	// Fault lets something go wrong.
	Fault *Fault
	// Remediate names a machine that a person marks for remediation, past every
	// health check.
	Remediate Target
	// Move moves the objects to another management cluster, as clusterctl move does.
	Move bool
	// Until says what the step waits for before the next one; the zero value is
	// what suits the step: see [Step.until].
	Until Until
}

// Ask is a change of what the user asks for. What is nil stays as it is.
type Ask struct {
	// ControlPlanes, Workers and Pool are sizes; that of the pool counts only if
	// the set has one.
	ControlPlanes, Workers, Pool *int
	// MaxSurge is the rollout's surge: 1 or 0.
	MaxSurge *int
	// Upgrade asks for the control plane's next Kubernetes version, which rolls it.
	Upgrade bool
	// Topology gives the next version to the cluster's module, to workers and to the
	// pool too, as a Cluster with a topology does (K13).
	Topology bool
	// WorkerTemplate rolls the workers to a new machine
	// template, and gives them and the pool the version of the control plane.
	WorkerTemplate bool
	// Template rolls the control plane to a new machine template.
	Template bool
	// Endpoint gives the Cluster an endpoint.
	Endpoint *contract.Endpoint
	// Delete deletes the Cluster.
	Delete bool
	// DeleteControlPlane deletes the control-plane object alone.
	DeleteControlPlane bool
}

// Target names a machine of the story: first, last (the newest that exists),
// next (the next one that is created), the number of its creation counted from
// 1, or its name. [Target.Worker] machines have "worker-" before that.
type Target string

// The targets that are words.
const (
	TargetFirst Target = "first"
	TargetLast  Target = "last"
	TargetNext  Target = "next"
)

// Until says what a step waits for.
type Until struct {
	// Settled waits until everything is as asked for, and no fault is under way.
	Settled bool
	// Stalled waits until nothing moves any more.
	Stalled bool
	// Gate waits until something has waited at the gate for a minute.
	Gate string
	// For lets virtual time pass.
	For time.Duration
	// Now does not wait.
	Now bool
}

// until returns what the step waits for: what it says, or else a step that asks,
// remediates or moves waits until everything is settled, and one with a fault
// does not wait, since the fault comes when its time has come.
func (s Step) until() Until {
	if s.Until != (Until{}) {
		return s.Until
	}
	if s.Fault != nil {
		return Until{Now: true}
	}
	return Until{Settled: true}
}

// Patience is the virtual time without any progress after which a run counts
// as stalled. It is above every retry and refresh interval, and above the time
// a node takes to join.
const Patience = 30 * time.Minute

// The steps that scenarios are made of. They know no control plane.
var (
	// StepCreate makes a cluster of one control-plane machine, two workers and, if the set has one, a pool of three.
	StepCreate = Step{
		ID: "create", Title: "the user creates a cluster: 1 control-plane machine, 2 workers, and a pool of 3 if the set has one",
		Ask: &Ask{ControlPlanes: new(1), Workers: new(2), Pool: new(3)},
	}
	// StepCreateControlPlane makes a cluster of one control-plane machine and nothing else.
	StepCreateControlPlane = Step{
		ID: "create", Title: "the user creates a cluster of 1 control-plane machine", Ask: &Ask{ControlPlanes: new(1)},
	}
	// StepCreateThree makes a cluster of three control-plane machines and two workers.
	StepCreateThree = Step{
		ID: "create", Title: "the user creates a cluster: 3 control-plane machines and 2 workers",
		Ask: &Ask{ControlPlanes: new(3), Workers: new(2)},
	}
	// StepScaleUp asks for three control-plane machines.
	StepScaleUp = Step{ID: "scale-up", Title: "the user scales the control plane to 3", Ask: &Ask{ControlPlanes: new(3)}}
	// StepRollout upgrades the control plane, one extra machine at a time.
	StepRollout = Step{
		ID: "rollout-surge", Title: "the user upgrades the control plane (maxSurge 1)", Ask: &Ask{Upgrade: true, MaxSurge: new(1)},
	}
	// StepRolloutInPlace rolls the control plane without an extra machine.
	StepRolloutInPlace = Step{
		ID: "rollout-no-surge", Title: "the user rolls the control plane to a new template (maxSurge 0)", Ask: &Ask{Template: true, MaxSurge: new(0)},
	}
	// StepScaleDown asks for one control-plane machine.
	StepScaleDown = Step{ID: "scale-down", Title: "the user scales the control plane to 1", Ask: &Ask{ControlPlanes: new(1)}}
	// StepDelete deletes the cluster.
	StepDelete = Step{ID: "delete", Title: "the user deletes the cluster", Ask: &Ask{Delete: true}}
)

// apply changes the spec as the user asks.
func (a *Ask) apply(s *Spec, cp *ControlPlane) {
	if s.Revision == 0 {
		s.Revision, s.MaxSurge, s.Version, s.ClusterVersion = 1, 1, cp.Version, cp.Version
		s.WorkerRevision, s.WorkerVersion = 1, cp.Version
	}
	for _, set := range []struct {
		from *int
		to   *int
	}{{a.ControlPlanes, &s.ControlPlanes}, {a.Workers, &s.Workers}, {a.Pool, &s.PoolSize}, {a.MaxSurge, &s.MaxSurge}} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	if a.Upgrade || a.Template {
		s.Revision++
	}
	if a.Upgrade {
		s.Version = cp.NextVersion
	}
	if a.Topology {
		s.ClusterVersion = s.Version
	}
	if a.Topology || a.WorkerTemplate {
		s.WorkerRevision++
		s.WorkerVersion = s.Version
	}
	s.Deleted = s.Deleted || a.Delete
	s.ControlPlaneDeleted = s.ControlPlaneDeleted || a.DeleteControlPlane
}

// asAsked tells that the world is what the user asks for.
func asAsked(w *World) bool {
	if w.Spec.Deleted {
		return w.Cluster.Gone
	}
	if w.Spec.ControlPlaneDeleted {
		return w.ControlPlane.Gone
	}
	if !w.Cluster.ControlPlaneInitialized || w.Infra.Running != "" || w.Infra.waiting || w.Infra.settling {
		return false
	}
	cps := w.ControlPlaneMachines()
	if len(cps) != w.Spec.ControlPlanes || len(w.Workers()) != w.Spec.Workers {
		return false
	}
	for _, m := range w.Machines {
		if m.Deleting || m.Node == nil || m.Infra.settling || m.Unhealthy != "" || w.Outdated(m) {
			return false
		}
	}
	if in, ok := w.Infra.Inputs.(*contract.ClusterInputs); !ok || !in.ControlPlaneInitialized || in.KubernetesVersion == nil || *in.KubernetesVersion != w.Spec.ClusterVersion {
		return false // the re-apply at initialisation, or with another version, is still to come
	}
	return !w.Infra.unapplied && (w.Pool == nil || poolReady(w))
}

func poolReady(w *World) bool {
	p := w.Pool
	return p.Replicas == w.Spec.PoolSize && p.Version == w.Spec.WorkerVersion && p.Infra.Provisioned && p.Infra.Running == "" && !p.Infra.settling &&
		!p.Infra.unapplied && p.Infra.Pool != nil && p.Infra.Pool.Replicas != nil &&
		int(*p.Infra.Pool.Replicas) == p.Replicas && p.Nodes == p.Replicas
}
