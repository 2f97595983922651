package harness

import "github.com/captf-toolkit/captf/contract"

// Verdict is how a harness run ended.
type Verdict string

// The verdicts, each with the exit code of `captf harness run`.
const (
	// VerdictPassed: every requirement that applies holds (exit 0).
	VerdictPassed Verdict = "passed"
	// VerdictFailed: a requirement failed or the run stalled (exit 1).
	VerdictFailed Verdict = "failed"
	// VerdictError: the runtime could not run (exit 2).
	VerdictError Verdict = "error"
)

// Status is the result of one requirement.
type Status string

// The statuses of a requirement.
const (
	StatusPassed        Status = "passed"
	StatusFailed        Status = "failed"
	StatusNotApplicable Status = "not-applicable"
	StatusManual        Status = "manual"
)

// Result is what a harness run found. Its JSON form is the documented report.
type Result struct {
	Verdict  Verdict `json:"verdict"`
	Scenario string  `json:"scenario"`
	// Title says what the scenario plays.
	Title string `json:"title,omitempty"`
	// ScenarioFile is the file that the scenario was read from; "" for one that is built in.
	ScenarioFile string `json:"scenarioFile,omitempty"`
	// Contract is the version of the module contract, such as v1alpha1.
	Contract string `json:"contract,omitempty"`
	// ControlPlane is the control plane that was played, such as kcp.
	ControlPlane string `json:"controlPlane"`
	// Registration is the method by which joining nodes found a server, for a
	// control plane that has several.
	Registration string `json:"registration,omitempty"`
	Seed         uint64 `json:"seed"`
	// Runtime is the name and version of the binary that ran the modules.
	Runtime string `json:"runtime"`
	// Stalled says which gate the run ended at; nil when it did not stall.
	Stalled *Stall `json:"stalled"`
	// Error says why the run could not be played; "" unless Verdict is error.
	Error        string        `json:"error,omitempty"`
	Requirements []Requirement `json:"requirements"`
	// Notes are what the contract allows and an author should know.
	Notes []Note      `json:"notes,omitempty"`
	Steps []StoryStep `json:"steps"`
	// Modules are the directories of the modules, by role.
	Modules map[contract.Role]string `json:"modules"`
	// LoadBalancer is what the run took the load balancer behind the endpoint to be.
	LoadBalancer *LoadBalancer `json:"loadBalancer,omitempty"`
	// Kept says where states and logs were kept; "" when they were removed.
	Kept string `json:"kept,omitempty"`
	// Left are the objects whose infrastructure still exists.
	Left []string `json:"left,omitempty"`
	// Objects are what module runs made, by object: first what the story made, then the probes.
	Objects []Inventoried `json:"objects,omitempty"`
	// LeftInCloud is what a simulated cloud still holds although no state records it, or its object is gone.
	LeftInCloud []CloudObject `json:"leftInCloud,omitempty"`
	// Faults are the faults that were injected, and what became of them.
	Faults []FaultRecord `json:"faults,omitempty"`
	// NotPlayed are the scenarios that were asked for and could not be played.
	NotPlayed []NotPlayed `json:"notPlayed,omitempty"`
	// Membership tells, by role, how instances become backends of the load balancer.
	Membership map[contract.Role]MembershipInfo `json:"membership,omitempty"`
	// Simulated are the providers that were simulated, and how true they are; none on a real cloud.
	Simulated []Simulated `json:"simulated,omitempty"`
	// Command is the command line that plays this again; "" when it was not a command.
	Command string `json:"command,omitempty"`
	// Timing splits the real time of the run.
	Timing Timing `json:"timing"`
}

// Stall is the end of a run that waits for something that does not come.
type Stall struct {
	// Gate is the id of the gate, such as kcp/endpoint-valid.
	Gate string `json:"gate"`
	// WaitsFor says what the gate waits for.
	WaitsFor string `json:"waitsFor"`
	// Object is the object that waits.
	Object string `json:"object"`
	// Output is the module output that is responsible, as role.output; "" when none is.
	Output string `json:"output"`
	// Requirement is the id of the requirement that is not met.
	Requirement string `json:"requirement"`
	// Message says what happened and what Cluster API would show.
	Message string `json:"message"`
	// Remedy says what to change.
	Remedy string `json:"remedy"`
	// At is the virtual time in seconds at which the run was given up.
	At float64 `json:"at"`
	// Expected tells that the scenario is about this stall, so that it is no failure.
	Expected bool `json:"expected,omitempty"`
}

// Requirement is the result of one requirement of control-planes.md 8, or of
// the contract itself.
type Requirement struct {
	ID     string        `json:"id"`
	Role   contract.Role `json:"role"`
	Status Status        `json:"status"`
	// Level is MUST, SHOULD or MUST NOT.
	Level string `json:"level"`
	// Title is the requirement in one sentence.
	Title    string   `json:"title"`
	Reason   string   `json:"reason,omitempty"`
	Remedy   string   `json:"remedy,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	// Proof is what a person can follow: the runs that the judgement stands on.
	Proof []Proof `json:"proof,omitempty"`
}

// StoryStep is one line of the story.
type StoryStep struct {
	// At is the virtual time in seconds.
	At float64 `json:"at"`
	// Type is the kind of event, one of [EventTypes].
	Type EventType `json:"type"`
	// Actor is who acts, such as kcp or cluster-api.
	Actor string `json:"actor"`
	// Object is the object concerned, such as Machine/demo-cp-1.
	Object string `json:"object"`
	// With is the object that belongs to it from now on: the Terraform object of a Machine or pool
	// that is created, the Node of a Machine that finds it; "" in other events.
	With string `json:"with,omitempty"`
	// Event says what happens.
	Event string `json:"event"`
	// Gate is the id of the gate that the object waits at or passes, such as kcp/endpoint-valid; "" in other events.
	Gate string `json:"gate,omitempty"`
	// Op is the kind of module run that the step reports the end of, or "".
	Op Op `json:"op,omitempty"`
	// Took is the real time of the module run in seconds; 0 without one.
	Took float64 `json:"took,omitempty"`
}

// Timing splits the real time of a run, in seconds.
type Timing struct {
	// Total is the whole run.
	Total float64 `json:"total"`
	// Runtime is the time during which at least one runtime process ran.
	Runtime float64 `json:"runtime"`
	// Runs is the number of module runs.
	Runs int `json:"runs"`
}
