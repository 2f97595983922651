// Package source opens container images where they are: in a registry, in an
// OCI layout directory, or in a tar archive (written by docker save, podman
// save, skopeo or crane). It reads manifests and configs whole and layers as
// streams or byte ranges, checks every digest, and bounds what it accepts.
// Nothing is ever written to the place that an image comes from.
//
// Not in this package: what is inside of layers (images/rootfs), writing images
// (images/build), pushing them (images/publish) and signatures (images/sign).
package source
