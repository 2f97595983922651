// Package image is the image contract as data: the fixed paths in a module
// image, its labels with their grammar and limits, the platforms, the layout of
// a provider mirror, and the schema of user variables that a label carries. The
// builder, the linter and the provider share it, so what one writes the others
// accept.
//
// Not in this package: reading, building or publishing images (images/...), the
// checks that the linter makes of them (lint/image), and the module contract
// itself (package contract).
package image
