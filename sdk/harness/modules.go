package harness

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// Op is one kind of module run (contract.md 14.1).
type Op string

// The kinds of module run.
const (
	// OpApply changes the infrastructure to what the inputs ask for.
	OpApply Op = "apply"
	// OpPlan computes what an apply would change and changes nothing.
	OpPlan Op = "plan"
	// OpRefresh reads the infrastructure into the state and changes nothing else.
	OpRefresh Op = "refresh"
	// OpDestroy removes everything that the state holds.
	OpDestroy Op = "destroy"
)

// Action is what a run does to one resource.
type Action string

// The actions on a resource.
const (
	ActionCreate  Action = "create"
	ActionUpdate  Action = "update"
	ActionReplace Action = "replace"
	ActionDelete  Action = "delete"
	ActionRead    Action = "read"
	ActionNoOp    Action = "no-op"
)

// Change is one planned change of a resource.
type Change struct {
	// Address is relative to the module, without the generated root's module.role.
	Address string
	// Type is the resource's type.
	Type string
	// Action is what happens to it.
	Action Action
}

// Resource is one managed resource instance in an object's state; see [balancer.Resource].
type Resource = balancer.Resource

// Diagnostic is one message of the runtime.
type Diagnostic struct {
	// Severity is error or warning.
	Severity string
	Summary  string
	Detail   string
	// Address is the resource concerned, "" when there is none.
	Address string
	// Range is file:line:column in the module, "" when there is none.
	Range string
}

// Run is one finished module run.
type Run struct {
	Op Op
	// Failed tells that the run ended with an error of the module; Diagnostics say which.
	Failed bool
	// Changes are the changes that were planned, without no-ops and reads.
	Changes []Change
	// OutputsChanged tells that the plan changes output values.
	OutputsChanged bool
	// Values are the outputs in the state after the run.
	Values contract.Values
	// Resources are the managed resources in the state after the run.
	Resources []Resource
	// Hung are the addresses of the resources that were being worked on when the
	// time for the run was over; nil when it was not.
	Hung []string
	// Planned is the planned content of every resource as JSON; only PlanValues sets it.
	Planned json.RawMessage
	// PlannedOutputs are the outputs that the plan knows; only PlanValues sets it.
	PlannedOutputs map[string]json.RawMessage
	// Diagnostics are the runtime's messages, errors first.
	Diagnostics []Diagnostic
	// Took is the real time that the runtime ran.
	Took time.Duration
}

// Modules runs the modules of one set, each object with a state of its own.
// Different objects may be run in parallel; one object never is. An error
// means that the runtime itself could not run; a module that fails is a Run
// with Failed set.
type Modules interface {
	// Roles returns the roles that the set has, in contract order.
	Roles() []contract.Role
	// Module describes the module of a role.
	Module(role contract.Role) ModuleInfo
	// Apply applies the inputs to the object.
	Apply(ctx context.Context, object string, in contract.Inputs) (*Run, error)
	// Plan plans the inputs against the object's state.
	Plan(ctx context.Context, object string, in contract.Inputs) (*Run, error)
	// PlanValues plans like Plan and also returns the planned content.
	PlanValues(ctx context.Context, object string, in contract.Inputs) (*Run, error)
	// Refresh refreshes the object's state.
	Refresh(ctx context.Context, object string, in contract.Inputs) (*Run, error)
	// Destroy destroys what the object's state holds. The object's directory stays.
	Destroy(ctx context.Context, object string, in contract.Inputs) (*Run, error)
	// PartialApply applies until the first resource exists and fails then, as a
	// create that breaks midway does (harness.md H16). The returned run has
	// Failed set; Resources tells what was left behind. ok is false when the
	// module has no resource to break after.
	PartialApply(ctx context.Context, object string, in contract.Inputs) (run *Run, ok bool, err error)
}

// ModuleInfo is what the harness knows of a module without running it.
type ModuleInfo struct {
	Role contract.Role
	// Dir is the module's directory, as the user gave it.
	Dir string
	// Outputs are the declared outputs with the place of their declaration, file:line.
	Outputs map[string]string
	// Sensitive are the outputs that the module marks sensitive: their values are never shown.
	Sensitive map[string]bool
	// Secrets are the values that the user gave for variables which the module
	// marks sensitive: no text shows them, whatever the module makes of them.
	Secrets []string
	// Variables are the declared variables with the place of their declaration, file:line.
	Variables map[string]string
	// Protected are the resources with prevent_destroy. A runner destroys a
	// cluster with that lifted, where it can.
	Protected []Protected
	// ExportReads are the paths read from captf_cluster_outputs.
	ExportReads []ExportRead
	// StateBlocks are the backend and cloud blocks of the module and of the local modules that it calls.
	StateBlocks []StateBlock
	// IgnoredVersions are the constraints that exclude the runtime's version and
	// that the runtime does not heed.
	IgnoredVersions []IgnoredVersion
	// Membership tells how the module's instances join a backend; nil when the
	// module neither declares it nor uses a known attachment type.
	Membership *Membership
}

// IgnoredVersion is a constraint on the runtime's version without effect.
type IgnoredVersion struct {
	// Constraint is the argument as it is written, such as required_version = "< 1.0".
	Constraint string
	// Place is file:line of the argument.
	Place string
}

// StateBlock is a block of a module that would say where the state is, if a
// child module could.
type StateBlock struct {
	// Block is the block's header, such as backend "s3".
	Block string
	// Place is file:line of the block.
	Place string
}

// Protected is a resource with prevent_destroy (CP-005).
type Protected struct {
	// Address is relative to the module.
	Address string
	// Range is file:line of the argument.
	Range string
}

// BlockedByPreventDestroy tells that prevent_destroy is what the runtime
// complains of; both runtimes name the argument.
func BlockedByPreventDestroy(d Diagnostic) bool {
	return strings.Contains(d.Summary, "cannot be destroyed") && strings.Contains(d.Detail, "prevent_destroy")
}

// ExportRead is one read of the cluster's exports in a machine or pool module.
type ExportRead struct {
	// Path is the attribute path below captf_cluster_outputs.
	Path []string
	// Optional tells that a missing value is handled, as by try() or lookup().
	Optional bool
	// Range is file:line of the read.
	Range string
}

// Pattern is how machines become backends of the load balancer; see [balancer.Pattern].
type Pattern = balancer.Pattern

// The membership patterns; see package balancer.
const (
	PatternAttachment = balancer.PatternAttachment
	PatternSelector   = balancer.PatternSelector
	PatternNone       = balancer.PatternNone
)

// Membership tells how the instances of a module join the control plane's
// backends; see [balancer.Membership].
type Membership = balancer.Membership

// Member is one attachment or selector; see [balancer.Member].
type Member = balancer.Member
