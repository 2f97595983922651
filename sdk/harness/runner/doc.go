// Package runner runs the modules of one set for the harness, on a real
// OpenTofu or Terraform with local state: it is the [harness.Modules] of
// `captf harness run`.
//
// Open a set with [OpenSet] or [OpenDirs], then make a [Runner] with [New]. Each
// object gets a directory SCRATCH/ROLE/OBJECT with the generated root of
// contract.md 12, its values and its state. The directories of a role lie at
// one depth, so one init per role serves all of them: they share its data
// directory and hold a copy of its lock file.
//
// A module that fails is a [harness.Run] with Failed set; an error means that
// the runtime itself could not run, or was stopped (harness.md H3).
//
// Not in this package: what is run when and with which inputs (sdk/harness),
// judging what came out, how a process is started and stopped (sdk/runtime),
// and the rules by which module files are read (sdk/module).
package runner
