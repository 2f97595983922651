// Package module loads a module directory exactly as Terraform and as OpenTofu
// would read it: which files count, which file hides which, how override files
// merge, and which local modules are called from there. It yields one view a
// runtime, with the place in the source of everything that was declared.
//
// Start with [Load]; it returns a [Tree] whose Primary view is the one that
// contract checks run on (lint.md section 3).
//
// Not in this package: any rule of the module contract (package contract), any
// finding (package lint), evaluation of expressions beyond constant arguments,
// provider schemas, and running a runtime (package sdk/runtime). Remote modules
// are recorded and never fetched, and no file outside the root directory is
// ever read.
package module
