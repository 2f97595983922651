// Package job builds the Jobs that run a module: which settings, image, environment and security context they have, how
// their pod is laid out, and which finished ones are kept. Everything is a function of its arguments.
//
// A pod has three containers (design D5): "runner" copies the runner for the others and ends; "broker" is a sidecar and the
// only one with a Kubernetes token; "source" runs the module image with the copied runner and reaches its state through the
// broker alone.
//
// Not in this package: which operation is run (package operation), names (package names), creating Jobs, and reading what
// their pods report.
package job
