// Package workspace is the life of a TerraformCluster, TerraformMachine or TerraformMachinePool: from the first apply of
// its module, through refreshes and further applies, to the destroy.
//
// A reconcile pass is the list in steps.go, read from top to bottom. A step looks at one thing, says what it found in an
// outcome, and may end the pass; one place (pass.close) writes what all steps said, at the end. What can be judged without
// the API server is judged elsewhere and only called here: the choice of the operation (provider/internal/operation), the
// Job (provider/internal/job), inputs, outputs, conditions.
//
// Crash safety rests on three rules. Names of what is created follow from why it is created, so that a pass that is
// repeated finds it. A finished Job is marked as recorded only after everything that it meant has been stored. And nothing
// that cannot be undone, which is starting a Job and removing a finalizer, is decided from a cache: both read live first.
//
// Not in this package: identities and templates (sibling packages), admission, and what runs inside a Job
// (provider/internal/runner, provider/internal/broker).
package workspace
