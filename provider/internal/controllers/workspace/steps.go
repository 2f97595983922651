package workspace

import "context"

// steps is the order of one pass (B-020..B-039). The later issue's steps have their places: Retain and adoption of retained
// state after the dependents, restore before the choice, plans around it.
var steps = []struct {
	name string
	run  func(*pass, context.Context) (outcome, error)
}{
	{"owners", (*pass).stepOwners},
	{"jobs", (*pass).stepJobs},
	{"lag", (*pass).stepLag},
	{"marks", (*pass).stepMarks},
	{"active job", (*pass).stepActive},
	{"bookkeeping", (*pass).stepBookkeeping},
	{"paused", (*pass).stepPaused},
	{"external", (*pass).stepExternal},
	{"finalizer", (*pass).stepFinalizer},
	{"deletion", (*pass).stepDeletion},
	{"credentials", (*pass).stepCredentials},
	{"state", (*pass).stepState},
	{"lock", (*pass).stepLock},
	{"outputs", (*pass).stepOutputs},
	{"inputs", (*pass).stepInputs},
	{"hash scheme", (*pass).stepScheme},
	{"choice", (*pass).stepChoice},
	{"start", (*pass).stepStart},
}
