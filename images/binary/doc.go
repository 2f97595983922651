// Package binary tells what an executable is without running it: the platform
// that it is built for, whether it needs a dynamic linker, and, for programs
// written in Go, which modules in which versions it is made of. By that a
// runtime is known to be OpenTofu or Terraform.
//
// Not in this package: running a binary (sdk/runtime), and finding it in an
// image (images/rootfs).
package binary
