package harness

import (
	"time"

	"github.com/captf-toolkit/captf/contract"
)

// Scenario is a story to play: steps that each change what the user asks for
// and wait until that is reached.
type Scenario struct {
	// ID is life, or an id of control-planes.md 9 such as K4.
	ID string
	// Title says in a few words what is played.
	Title string
	// Steps are played in order; deletion of everything that is left follows
	// the last one without checks, unless a step asks for it.
	Steps []Step
	// Race fixes who comes first when the control plane has initialised: the
	// cluster's re-apply or the next machine; "" leaves it to the seed (K3).
	Race Race
	// UserEndpoint gives the Cluster an endpoint from the start (K11).
	UserEndpoint bool
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
	// NodeProviderID makes Nodes carry another providerID than the cloud's rule
	// gives them (K17); nil keeps to the rule.
	NodeProviderID func(emitted string) string
	// HairpinOff makes the balancer lead no backend back to itself (CP-020).
	HairpinOff bool
	// Probes tells that the probes run beside the story: module runs on objects
	// of their own that try what the story does not.
	Probes bool
}

// Race is an order of two writes that become possible at the same time.
type Race string

// The orders of the writes after initialisation.
const (
	RaceClusterFirst Race = "cluster-first"
	RaceMachineFirst Race = "machine-first"
)

// Step is one wish of the user.
type Step struct {
	// ID names the step, such as scale-up.
	ID string
	// Title is the story's line for it.
	Title string
	// Ask changes what the user asks for.
	Ask func(s *Spec, cp *ControlPlane)
	// Done tells that the wish is fulfilled.
	Done func(w *World) bool
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
		Ask: func(s *Spec, cp *ControlPlane) {
			s.ControlPlanes, s.Workers, s.PoolSize, s.Revision, s.MaxSurge, s.Version = 1, 2, 3, 1, 1, cp.Version
		},
		Done: asAsked,
	}
	// StepCreateControlPlane makes a cluster of one control-plane machine and nothing else.
	StepCreateControlPlane = Step{
		ID: "create", Title: "the user creates a cluster of 1 control-plane machine",
		Ask: func(s *Spec, cp *ControlPlane) {
			s.ControlPlanes, s.Revision, s.MaxSurge, s.Version = 1, 1, 1, cp.Version
		},
		Done: asAsked,
	}
	// StepCreateThree makes a cluster of three control-plane machines and two workers.
	StepCreateThree = Step{
		ID: "create", Title: "the user creates a cluster: 3 control-plane machines and 2 workers",
		Ask: func(s *Spec, cp *ControlPlane) {
			s.ControlPlanes, s.Workers, s.Revision, s.MaxSurge, s.Version = 3, 2, 1, 1, cp.Version
		},
		Done: asAsked,
	}
	// StepScaleUp asks for three control-plane machines.
	StepScaleUp = Step{
		ID: "scale-up", Title: "the user scales the control plane to 3",
		Ask:  func(s *Spec, _ *ControlPlane) { s.ControlPlanes = 3 },
		Done: asAsked,
	}
	// StepRollout upgrades the control plane, one extra machine at a time.
	StepRollout = Step{
		ID: "rollout-surge", Title: "the user upgrades the control plane (maxSurge 1)",
		Ask: func(s *Spec, cp *ControlPlane) {
			s.Revision++
			s.MaxSurge, s.Version = 1, cp.NextVersion
		},
		Done: asAsked,
	}
	// StepRolloutInPlace rolls the control plane without an extra machine.
	StepRolloutInPlace = Step{
		ID: "rollout-no-surge", Title: "the user rolls the control plane to a new template (maxSurge 0)",
		Ask: func(s *Spec, _ *ControlPlane) {
			s.Revision++
			s.MaxSurge = 0
		},
		Done: asAsked,
	}
	// StepScaleDown asks for one control-plane machine.
	StepScaleDown = Step{
		ID: "scale-down", Title: "the user scales the control plane to 1",
		Ask:  func(s *Spec, _ *ControlPlane) { s.ControlPlanes = 1 },
		Done: asAsked,
	}
	// StepDelete deletes the cluster.
	StepDelete = Step{
		ID: "delete", Title: "the user deletes the cluster",
		Ask:  func(s *Spec, _ *ControlPlane) { s.Deleted = true },
		Done: func(w *World) bool { return w.Cluster.Gone },
	}
)

// asAsked tells that the world is what the user asks for.
func asAsked(w *World) bool {
	if !w.Cluster.ControlPlaneInitialized || w.Infra.Running != "" || w.Infra.waiting || w.Infra.settling {
		return false
	}
	cps := w.ControlPlaneMachines()
	if len(cps) != w.Spec.ControlPlanes || len(w.Workers()) != w.Spec.Workers {
		return false
	}
	for _, m := range w.Machines {
		if m.Deleting || m.Node == nil || m.Infra.settling || (m.ControlPlane && w.Outdated(m)) {
			return false
		}
	}
	if in, ok := w.Infra.Inputs.(*contract.ClusterInputs); !ok || !in.ControlPlaneInitialized {
		return false // the re-apply at initialisation is still to come
	}
	return w.Pool == nil || poolReady(w)
}

func poolReady(w *World) bool {
	p := w.Pool
	return p.Replicas == w.Spec.PoolSize && p.Infra.Provisioned && p.Infra.Running == "" && !p.Infra.settling &&
		p.Infra.Pool != nil && p.Infra.Pool.Replicas != nil &&
		int(*p.Infra.Pool.Replicas) == p.Replicas && p.Nodes == p.Replicas
}
