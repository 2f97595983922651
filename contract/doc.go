// Package contract is the one definition of the interface between CAPTF and a
// Terraform or OpenTofu module: the roles a module can play, the shape of its
// inputs and outputs, and what their values mean.
//
// The package holds what is common to every contract version: the vocabulary
// (Role, Shape, Input, Output, Violation), the Go values that inputs are
// rendered from and outputs are decoded to, and the rules about them that need
// no table. The tables of one version live in a sibling package such as
// v1alpha1; consumers reach them through the versions package, so that a
// further version is added without editing them.
//
// Not in this package: reading module source (sdk/module), running a runtime
// (sdk/runtime), Kubernetes types and clients (provider), and the layout of
// module images (contract/image).
package contract

//go:generate go run ./internal/generate
