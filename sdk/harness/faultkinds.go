package harness

import (
	"fmt"
	"slices"

	"github.com/captf-toolkit/captf/contract"
)

// FaultPlayer says who plays a fault.
type FaultPlayer string

// The players of faults.
const (
	// PlayedByRunner: the module run is broken; possible with every module.
	PlayedByRunner FaultPlayer = "runner"
	// PlayedByCloud: the cloud does it; only possible with a simulated one.
	PlayedByCloud FaultPlayer = "cloud"
	// PlayedByHarness: the harness alters what the module says, or what happens
	// in the workload cluster, and says so in the story.
	PlayedByHarness FaultPlayer = "harness"
)

// FaultInfo is what is known of a kind of fault.
type FaultInfo struct {
	Kind FaultKind
	// Title says what goes wrong, in one sentence.
	Title string
	// Player is who plays it.
	Player FaultPlayer
	// Roles are the roles of the objects that it can happen to.
	Roles []contract.Role
	// Ops are the kinds of run that it can break, the default first; nil for a
	// fault that breaks no run.
	Ops []Op
	// Midway tells that the run breaks after some resources exist, so that
	// [Fault.After] counts.
	Midway bool
	// Lasting tells that it lasts for a time, [Fault.For].
	Lasting bool
	// Orphans tells that it may leave things in the cloud that no state records,
	// whatever a module does.
	Orphans bool
	// Breaks are the requirements that a module breaks which does that by itself.
	// While the harness plays the fault nobody is blamed for them.
	Breaks []string
}

var (
	anyRole     = contract.Roles()
	clusterOnly = []contract.Role{contract.RoleCluster}
	machineOnly = []contract.Role{contract.RoleMachine}
	poolOnly    = []contract.Role{contract.RoleMachinePool}
	writeOps    = []Op{OpApply, OpDestroy}
)

// faultInfos are the kinds of fault, in the order of documentation.
var faultInfos = []FaultInfo{
	{
		Kind: FaultApplyFails, Title: "an apply fails once some resources exist, and the controller tries it again with backoff",
		Player: PlayedByRunner, Roles: anyRole, Ops: []Op{OpApply}, Midway: true,
	},
	{
		Kind: FaultInterrupted, Title: "a run is interrupted in order, as by the eviction of its Pod, and is started again at once",
		Player: PlayedByRunner, Roles: anyRole, Ops: writeOps, Midway: true,
	},
	{
		Kind: FaultKilled, Title: "a run is killed, as by a Node that dies: what it was creating is not recorded",
		Player: PlayedByRunner, Roles: anyRole, Ops: writeOps, Midway: true, Orphans: true,
	},
	{
		Kind: FaultHangs, Title: "a run does not end by itself: the deadline of its Job ends it",
		Player: PlayedByRunner, Roles: anyRole, Ops: writeOps, Midway: true,
	},
	{
		Kind: FaultStateLost, Title: "a run does its work, but its state is not stored",
		Player: PlayedByRunner, Roles: anyRole, Ops: writeOps, Orphans: true,
	},
	{
		Kind: FaultRefreshBlind, Title: "a refresh does not see what exists; the next would see it again",
		Player: PlayedByCloud, Roles: anyRole, Ops: []Op{OpRefresh}, Orphans: true,
	},
	{
		Kind: FaultQuota, Title: "the cloud refuses to create, because a quota is used up",
		Player: PlayedByCloud, Roles: anyRole, Ops: []Op{OpApply},
	},
	{
		Kind: FaultConflict, Title: "the cloud refuses changes side by side, as of several members of one balancer",
		Player: PlayedByCloud, Roles: anyRole, Ops: []Op{OpDestroy, OpApply},
	},
	{
		Kind: FaultInstanceGone, Title: "an instance is deleted out of band",
		Player: PlayedByCloud, Roles: machineOnly,
	},
	{
		Kind: FaultInstanceStopped, Title: "an instance is stopped out of band",
		Player: PlayedByCloud, Roles: machineOnly,
	},
	{
		Kind: FaultAddressChanges, Title: "an instance gets another address",
		Player: PlayedByCloud, Roles: machineOnly,
	},
	{
		Kind: FaultProviderIDWrong, Title: "the Node carries another providerID than the module emits",
		Player: PlayedByHarness, Roles: machineOnly, Breaks: []string{"CP-040"},
	},
	{
		Kind: FaultProviderIDTwice, Title: "the module emits the provider_id of another machine",
		Player: PlayedByHarness, Roles: machineOnly, Breaks: []string{"CP-040"},
	},
	{
		Kind: FaultDomainIgnored, Title: "the module places a machine in another failure domain than asked for",
		Player: PlayedByHarness, Roles: machineOnly, Breaks: []string{"CP-045"},
	},
	{
		Kind: FaultEndpointChanges, Title: "a re-apply emits another endpoint",
		Player: PlayedByHarness, Roles: clusterOnly, Breaks: []string{"CP-003"},
	},
	{
		Kind: FaultNodeNeverJoins, Title: "an instance runs, and no Node registers",
		Player: PlayedByHarness, Roles: machineOnly, Lasting: true, Breaks: []string{"CP-040"},
	},
	{
		Kind: FaultTokenRotates, Title: "the bootstrap data of a pool is rewritten while the pool is applied",
		Player: PlayedByHarness, Roles: poolOnly,
	},
	{
		Kind: FaultDegraded, Title: "infrastructure that was well reports that it is degraded",
		Player: PlayedByHarness, Roles: anyRole, Lasting: true, Breaks: []string{idContract + "health", "CP-054"},
	},
	{
		Kind: FaultBackendLate, Title: "the balancer sends nothing to a backend for a while after it is registered, or never",
		Player: PlayedByHarness, Roles: machineOnly, Lasting: true, Breaks: []string{"CP-021", "CP-018", "CP-020", "CP-023"},
	},
	{
		Kind: FaultCreateFails, Title: "the control plane cannot create the bootstrap config of a machine, and deletes its TerraformMachine again",
		Player: PlayedByHarness, Roles: machineOnly,
	},
}

// Faults returns what is known of every kind of fault.
func Faults() []FaultInfo { return faultInfos }

// FaultOf returns what is known of a kind of fault.
func FaultOf(kind FaultKind) (FaultInfo, bool) {
	n := slices.IndexFunc(faultInfos, func(i FaultInfo) bool { return i.Kind == kind })
	if n < 0 {
		return FaultInfo{}, false
	}
	return faultInfos[n], true
}

// Playable says why a scenario cannot be played with a set of modules; nil when
// it can.
func Playable(s Scenario, m Modules) error {
	if s.Pool && !slices.Contains(m.Roles(), contract.RoleMachinePool) {
		return &CannotPlayError{Reason: "it needs a pool, and the set has no machinepool module"}
	}
	for _, step := range s.Steps {
		if step.Fault == nil {
			continue
		}
		info, ok := FaultOf(step.Fault.Kind)
		if !ok || info.Player == PlayedByHarness {
			continue
		}
		injector, ok := m.(Injector)
		if !ok {
			return &CannotPlayError{Reason: "it needs the fault " + string(step.Fault.Kind) + ", which cannot be injected into these modules"}
		}
		if err := injector.Injects(step.Fault.Kind); err != nil {
			return &CannotPlayError{Reason: "it needs the fault " + string(step.Fault.Kind) + ": " + err.Error()}
		}
	}
	return nil
}

// NeedsCloud tells that a scenario has a fault that only a simulated cloud plays.
func (s Scenario) NeedsCloud() bool {
	return slices.ContainsFunc(s.Steps, func(step Step) bool {
		if step.Fault == nil {
			return false
		}
		info, _ := FaultOf(step.Fault.Kind)
		return info.Player == PlayedByCloud
	})
}

// CannotPlayError says why a scenario cannot be played.
type CannotPlayError struct{ Reason string }

func (e *CannotPlayError) Error() string { return e.Reason }

// harmsInstance tells that an instance is not there, or does not run, any more, or
// is not seen.
func (k FaultKind) harmsInstance() bool {
	return k == FaultInstanceGone || k == FaultInstanceStopped || k == FaultRefreshBlind
}

// judgeHarmed judges what a module reports of an instance that was deleted or
// stopped out of band (CP-055).
func judgeHarmed(kind FaultKind, out *contract.MachineOutputs) finding {
	state := out.Health.State
	text := fmt.Sprintf("health %s and provider_id %q", state, out.ProviderID)
	// A null provider_id beside a health that is well tells a controller nothing is wrong.
	gone := state == contract.HealthTerminated || out.ProviderID == "" && state != contract.HealthRunning
	switch kind {
	case FaultInstanceStopped:
		return judge(state == contract.HealthStopped || state == contract.HealthTerminated, "CP-055", contract.RoleMachine,
			"the instance was stopped, and the module still reports "+text, "a stopped instance is reported as "+string(state))
	case FaultInstanceGone:
		return judge(gone, "CP-055", contract.RoleMachine,
			"the instance was deleted, and the module still reports "+text, "a deleted instance is reported as "+text)
	}
	return judge(gone, "CP-055", contract.RoleMachine,
		"the cloud showed no instance, and the module still reports "+text, "an instance that is not seen is reported as "+text)
}
