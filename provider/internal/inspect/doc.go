// Package inspect reads what a module image says of itself, its labels, from the image's registry: the schema of the
// variables that it takes (B-316), and the capacity of the machines that it makes (B-915). Only manifests and the config
// are read.
//
// The reference is a user's, so the manager must not become a way into the network that it runs in: an Egress policy says
// which registries are read and which addresses are connected to, the address is checked when a connection is made, after
// names were resolved, for redirects and token servers too (B-936). Documents are bounded in size, reads in time. What a
// registry answers reaches no error, only the class of the failure does.
//
// What was read is kept by digest. A reference is kept by namespace, because access is the namespace's: one that cannot
// read an image learns nothing of it from another's read. A tag is resolved again after ten minutes; a failure is kept for
// a minute (B-317, B-319).
//
// Not in this package: deciding what to do about it, the format of the labels (contract/image), opening images in general
// (images/source).
package inspect
