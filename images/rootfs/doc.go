// Package rootfs shows the file system of an image: its layers in order, with
// whiteouts, hard and symbolic links resolved as a container runtime would, and
// without unpacking anything to disk.
//
// It reads no more than it needs. A layer in the eStargz form, whose table of
// contents has the digest that the manifest announces, costs its table and the
// chunks of the files that are read, each checked against the digest in the
// table. Any other layer is streamed once; headers and the contents of chosen
// paths are kept, and the digest of the layer is checked at its end. What was
// learned of a layer can be cached on disk under its digest.
//
// Memory and work are bounded, see Limits. What an archive should not contain
// (names that lead out of the image, links to nothing, odd types) never fails
// the image: it is left out or straightened, and listed as a Problem.
//
// Not in this package: where images come from (images/source), and what the files
// mean (lint/image).
package rootfs
