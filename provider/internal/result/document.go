// Package result is the document in which a run tells the manager how it ended: its types, and an encoder and a decoder
// that keep it within what Kubernetes takes as a termination message (B-610..B-615, image.md 11).
//
// The document is written by a process inside the module's container, so its reader trusts nothing in it: [Decode] bounds
// every field.
//
// Not in this package: where the document is written to or read from (packages runner, broker and the controllers),
// replacing secrets, and what its content means for an object's status.
package result

import (
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Version is that of the document's form.
const Version = 1

// Limits of the document (B-610, B-615, B-982).
const (
	// MaxBytes is the size of the whole document, which is what Kubernetes takes as a termination message.
	MaxBytes = 4096
	// MaxTail is the size of an error's summary, in bytes.
	MaxTail = 512
	// MaxErrorResources is how many failed resources are listed, MaxErrorResource the size of one entry in bytes.
	MaxErrorResources = 10
	MaxErrorResource  = 512
	// MaxDriftResources is how many addresses of drifted resources are listed, MaxDriftResource the size of one in bytes.
	MaxDriftResources = 20
	MaxDriftResource  = 512
	// MaxPlanResources is how many planned changes are listed, MaxPlanResource the size of one entry in bytes.
	MaxPlanResources = 50
	MaxPlanResource  = 600
	// MaxSteps is how many steps are kept.
	MaxSteps = 16
)

// Document is how a run ended.
type Document struct {
	// Version is 1.
	Version int `json:"version"`
	// Op is the operation that was run.
	Op      infrav1.Operation `json:"op"`
	Image   Image             `json:"image"`
	Runtime Runtime           `json:"runtime"`
	// Steps are the commands that were run, in order.
	Steps []Step `json:"steps,omitempty"`
	// Drift is what a drift check found; nil for every other operation and for a check that failed before it could tell.
	Drift *Drift `json:"drift"`
	// Error is why the run failed; nil if it succeeded.
	Error *Error `json:"error"`
	// Changes are the counts of the summary line of an apply or a destroy.
	Changes *Changes `json:"changes,omitempty"`
	// Plan is what was planned, for a plan and for an apply that was blocked or whose plan changed.
	Plan *Plan `json:"plan,omitempty"`
}

// Image is the module image of the run.
type Image struct {
	// Ref is the reference as the Job had it.
	Ref string `json:"ref,omitempty"`
	// ProvidersMirror tells that the image has a provider mirror.
	ProvidersMirror bool `json:"providersMirror,omitempty"`
}

// Runtime is what ran the module.
type Runtime struct {
	// Command is the name of the binary, such as tofu.
	Command string `json:"command,omitempty"`
	// Version is what the binary said it is, such as 1.12.6; empty if it did not say.
	Version string `json:"version,omitempty"`
}

// Step is one command that was run.
type Step struct {
	// Name is one of the step names of B-599.
	Name string `json:"name"`
	// Exit is the exit code; 1 if the command could not be started or was killed.
	Exit int32 `json:"exit"`
	// Seconds it took, with fractions of a millisecond left out.
	Seconds float64 `json:"seconds"`
}

// Error is why a run failed.
type Error struct {
	Kind infrav1.RunErrorKind `json:"kind"`
	// Step is the command that failed, if there is one.
	Step string `json:"step,omitempty"`
	// Tail says what went wrong and where, in at most MaxTail bytes.
	Tail string `json:"tail,omitempty"`
	// Resources are the resources that failed, each as "<address>: <summary>" (B-615).
	Resources []string `json:"resources,omitempty"`
}

// Drift is what differs between the configuration and the world. A replacement counts in Replace only; imports, moves and
// changes of outputs are no drift (B-683).
type Drift struct {
	Detected bool  `json:"detected"`
	Create   int32 `json:"create,omitempty"`
	Update   int32 `json:"update,omitempty"`
	Replace  int32 `json:"replace,omitempty"`
	Delete   int32 `json:"delete,omitempty"`
	// Resources are addresses, at most MaxDriftResources.
	Resources []string `json:"resources,omitempty"`
	// Truncated tells that there are more resources than are listed.
	Truncated bool `json:"truncated,omitempty"`
}

// Changes are the counts of the summary line of an apply or a destroy.
type Changes struct {
	Add     int32 `json:"add"`
	Change  int32 `json:"change"`
	Destroy int32 `json:"destroy"`
	Import  int32 `json:"import,omitempty"`
}

// Plan is what was planned: its hash, counts, and what is to be changed.
type Plan struct {
	// Hash is the plan's fingerprint, with prefix p2: (B-748).
	Hash string `json:"hash"`
	// Counts of resources by what is to be done to them. A replacement counts in Replace only; Import and Move count
	// resources that are in another count as well, if something else is done to them too.
	Create  int32 `json:"create,omitempty"`
	Update  int32 `json:"update,omitempty"`
	Replace int32 `json:"replace,omitempty"`
	Delete  int32 `json:"delete,omitempty"`
	Import  int32 `json:"import,omitempty"`
	Move    int32 `json:"move,omitempty"`
	Forget  int32 `json:"forget,omitempty"`
	// OutputChanges counts root outputs that change.
	OutputChanges int32 `json:"outputChanges,omitempty"`
	// Resources are "<address> (<actions>)" sorted by address, at most MaxPlanResources.
	Resources []string `json:"resources,omitempty"`
	// Truncated tells that there are more resources than are listed.
	Truncated bool `json:"truncated,omitempty"`
}
