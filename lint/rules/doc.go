// Package rules holds the checks of a module against the contract, as data:
// [All] lists them. They range over the contract's tables, so that a check
// knows no version of it.
//
// Adding a check means adding a variable of type [lint.Rule] with its
// documentation, listing it in All, and adding folders with a case that fires
// and one that does not under lint/testdata/cases. The reference page is
// generated from the table.
//
// Not in this package: running checks (package lint), what expressions evaluate
// to (package flow), and loading modules (package sdk/module).
package rules

//go:generate go run ../internal/docgen ../../docs/reference/lint.md
