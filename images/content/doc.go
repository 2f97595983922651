// Package content treats an image as what it is to a registry or a layout: a set
// of documents (indexes and manifests) that name blobs (configs and layers) by
// digest, and other documents attached to them. It collects the set of an image
// wherever that is, and writes it as an OCI layout, in a directory or an archive.
//
// Not in this package: opening references (images/source), what layers hold
// (images/rootfs), making images (images/build) and pushing (images/publish).
package content
