// Package attest describes what is in an image, for those who decide whether to
// use it: a bill of materials (SPDX 2.3) of the module, its providers, the runtime
// and the Go modules that these are built from, and how the image was put together
// (SLSA provenance 1.0). Both are made of the image alone, and hold no time but
// that of the image, so the same image gives the same documents.
//
// The documents about an image are attached to it as referrers. A platform has a
// bill of materials, because what is in it differs by platform; the index and each
// platform have a provenance, because deployments name either.
//
// in-toto statements are written with types of our own: the protobuf types of
// github.com/in-toto/attestation write JSON with spaces that differ from one build
// of a program to the next, and so would digests. Tests read our statements with
// that library.
//
// Not in this package: signatures (images/sign), reading and keeping referrers
// (images/referrer), and packages of the operating system in a base image, which
// the base image's own bill of materials lists.
package attest
