// Package balancer knows how control-plane machines become backends of a load
// balancer: the resource types of the clouds that have to do with one, as data;
// the membership patterns of control-planes.md 6; and a simulated balancer that
// decides whether an endpoint reaches an API server at a virtual time.
//
// Not in this package: what a control plane waits for, and what a missing
// backend means to an author (package harness). It reads no files and runs
// nothing, so that linters may use its tables too.
package balancer
