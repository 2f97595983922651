// Package harness plays the life of a cluster against a set of modules: it is
// Cluster API, the control-plane provider and the CAPTF controllers in one
// discrete-event simulation, while every module run is real.
//
// The simulation has a virtual clock (package engine). What one control plane
// does is a table of gates and steps in a package of its own, such as kcp;
// what a module must do is the table in package requirements. Module runs go
// through the Modules interface, which package runner implements on OpenTofu
// and Terraform.
//
// Not in this package: running a runtime (sdk/runtime, harness/runner),
// anything that only one control plane does (harness/kcp), and presenting a
// result (sdk/report).
package harness
