// Package runner runs one operation of a module in a Job: it is the entry point of the module's container (image.md 8 to 11,
// provider-ops.md 5, B-580..B-620). It checks the image, prepares the root module and the environment, runs the steps of the
// operation, judges a plan before it is applied, and tells how it ended, in a document that is never larger than Kubernetes
// takes and holds no secrets.
//
// The runtime is started directly, without a shell and without -chdir. A stop is passed on once, as an interrupt, and waited
// for: killing a runtime in the middle of a create loses the object.
//
// The process has no access to Kubernetes. State, plan fingerprints, events and the result go through the broker, which
// listens on loopback in the same pod. Without a broker ([Options.Local]) the run keeps its state in a file, which
// is how a Job that failed is reproduced on a laptop.
//
// Not in this package: the broker itself, pushing backups of a state back, choosing what is run, and what a result means for
// an object's status.
package runner
