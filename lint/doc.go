// Package lint checks a module directory against the module contract, without
// running anything: it reads file text, needs no runtime, and uses no network.
//
// A check is a [Rule], and rules are data: an identifier, what it looks for,
// why, how to fix it, an example that fires and one that does not, and the
// function that finds it. [Run] loads a directory, lets every rule look at it
// and returns a [Report], whose findings are sorted and the same on every run.
//
//	report, err := lint.Run(lint.Options{
//		Dir: "modules/machine", Role: contract.RoleMachine,
//		Contract: versions.Default(), Rules: rules.All(),
//	})
//
// An error means that the module could not be read; that is never a clean
// report.
//
// Not in this package: the checks themselves (package rules), what expressions
// can evaluate to (package flow), output formats (package format), the contract
// (package contract), which files count (package sdk/module), edits of a module
// (package fix), the schema of user variables (package schema), and checks of
// images, which will be a second kind of subject beside the module directory.
package lint
