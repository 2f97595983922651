// Package referrer keeps what belongs to an image beside it: signatures, bills of
// materials, provenance. Each is an OCI 1.1 artifact, a manifest with an artifact
// type, one layer, and the image's manifest as its subject.
//
// In a registry the referrers API lists them; for registries without it the
// library keeps an index under the tag sha256-HEX of the subject. In an OCI layout
// the descriptors in index.json have the artifact type, and the subject is read
// from the manifests. Manifests hold no times, so the same content is the same
// artifact, and attaching it again changes nothing.
//
// Not in this package: what is attached (images/attest, images/sign), and images
// themselves (images/source, images/build).
package referrer
