// Package build makes module images: an OCI index with one image a platform,
// from a module directory and a binary of the runtime for each platform, or a
// base image that has one. No container daemon and no privileges are needed,
// and nothing of the machine gets into an image, so that equal inputs give
// equal digests.
//
// The layers are, from below: those of the base image; the runtime; the provider
// mirror; the module. The first three are the same for all modules and versions
// with the same runtime and providers, only the small last one changes. They are
// eStargz: gzip archives that also have a table of contents, by which a reader
// finds single files with byte ranges.
//
// Not in this package: pushing (images/publish), signatures and attestations
// (images/sign, images/attest), and checks of the module's text (package lint).
package build
