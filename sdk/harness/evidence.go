package harness

import "github.com/captf-toolkit/captf/contract"

// Proof is one module run that a judgement stands on, as far as a person needs
// it to follow: what was planned, what was emitted, what the state holds.
// Lists are bounded; More tells how much is not listed.
type Proof struct {
	// Object is the object whose run it is, such as TerraformMachine/demo-cp-1.
	Object string `json:"object"`
	// Op is the kind of run.
	Op Op `json:"op"`
	// Probe is the name of the probe that made the run; "" for a run of the story.
	Probe string `json:"probe,omitempty"`
	// At is the virtual time in seconds at which the run of the story ended; 0 for a probe's.
	At float64 `json:"at,omitempty"`
	// Changes are an excerpt of the plan.
	Changes []PlannedChange `json:"changes,omitempty"`
	// Outputs are the outputs that were judged.
	Outputs []OutputValue `json:"outputs,omitempty"`
	// State are the addresses in the state that were judged.
	State []string `json:"state,omitempty"`
	// More is the number of changes and addresses that are not listed.
	More int `json:"more,omitempty"`
}

// PlannedChange is one line of a plan.
type PlannedChange struct {
	// Address is relative to the module.
	Address string `json:"address"`
	// Action is create, update, replace or delete.
	Action Action `json:"action"`
}

// OutputValue is one output of a module run.
type OutputValue struct {
	// Name is that of the output.
	Name string `json:"name"`
	// Value is the output as compact JSON, cut where it is long; "(sensitive)"
	// where the module marks it sensitive. Of exports only the names are shown.
	Value string `json:"value"`
	// Place is file:line of the declaration; "" when it is not known.
	Place string `json:"place,omitempty"`
}

// Inventoried is what module runs made for one object.
type Inventoried struct {
	// Object is the object, such as TerraformMachine/demo-cp-1.
	Object string `json:"object"`
	// Role is that of its module.
	Role contract.Role `json:"role"`
	// Probe tells that a probe made the object, rather than the story.
	Probe bool `json:"probe,omitempty"`
	// Runs is the number of module runs.
	Runs int `json:"runs"`
	// Created is the number of resources that were created or replaced, over all runs.
	Created int `json:"created"`
	// Addresses are those of the resources that were created, sorted and each once; at most 100.
	Addresses []string `json:"addresses,omitempty"`
	// Remaining is the number of resources that the state still held at the end.
	Remaining int `json:"remaining"`
	// RemainingAddresses are those of the resources that remained; at most 100.
	RemainingAddresses []string `json:"remainingAddresses,omitempty"`
}

// FaultRecord is one fault that was injected.
type FaultRecord struct {
	// Kind is the kind of fault.
	Kind FaultKind `json:"kind"`
	// Object is what it happened to.
	Object string `json:"object"`
	// Op is the kind of run that it broke; "" for faults that break no run.
	Op Op `json:"op,omitempty"`
	// At is the virtual time in seconds at which it was injected.
	At float64 `json:"at"`
	// Effect says what it did; "" when it has shown no effect.
	Effect string `json:"effect,omitempty"`
	// Reaction is what Cluster API and the controllers did next, in order.
	Reaction []string `json:"reaction,omitempty"`
	// Survived tells that the cluster came to what was asked for all the same.
	Survived bool `json:"survived"`
	// Left is what the fault left behind.
	Left []CloudObject `json:"left,omitempty"`
}

// NotPlayed is a scenario that could not be played.
type NotPlayed struct {
	// Scenario is its id.
	Scenario string `json:"scenario"`
	// Title says what it plays.
	Title string `json:"title,omitempty"`
	// Reason says why it could not be played.
	Reason string `json:"reason"`
}

// MembershipInfo is how the instances of a module become backends.
type MembershipInfo struct {
	// Pattern is A (attachment), B (selector) or C (no load balancer of ours).
	Pattern Pattern `json:"pattern"`
	// Declared tells that captf-harness.json says so; otherwise resource types told it.
	Declared bool `json:"declared"`
	// Members are the addresses of attachments or selectors.
	Members []string `json:"members,omitempty"`
}

// Simulated says how true the simulation of one provider is.
type Simulated struct {
	// Provider is the source, such as hashicorp/aws.
	Provider string `json:"provider"`
	// Schema is real (recorded from the provider) or derived.
	Schema string `json:"schema"`
	// Behaviour is that of a persona, by its name, or generic.
	Behaviour string `json:"behaviour"`
	// Unchecked are what a real provider would check and this does not.
	Unchecked []string `json:"unchecked,omitempty"`
}
