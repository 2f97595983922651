// Package flow tells what an expression of a module can evaluate to, as far as
// that can be told from the text alone: literals, objects and lists with their
// attributes, both branches of a conditional, and whatever is reached through
// locals, calls of local modules and terraform_data. What cannot be told is
// [Unknown]; the package never guesses, so that a rule built on it only reports
// what is certain.
//
// Not in this package: findings (package rules), the contract's shapes (package
// contract), provider schemas, and evaluation with real input values, which
// only a runtime can do.
package flow
