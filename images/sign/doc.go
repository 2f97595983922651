// Package sign signs images with a key and verifies such signatures. A signature
// is a Sigstore bundle (version 0.3) around a DSSE envelope, whose payload is an
// in-toto statement about the digest of an image; it is attached to the image as a
// referrer, the way cosign does since its version 3, so each of the two verifies
// what the other has signed. Signed attestations are the same with other
// predicates.
//
// The package is light, because the linter starts with it: it reads the few fields
// of a bundle that a key needs, with the standard library's cryptography.
//
// Not in this package: keys in files (keyfile), bundles with certificates and
// transparency logs (keyless), which need the whole of sigstore-go, what is
// attested (images/attest), and where referrers are kept (images/referrer).
package sign
