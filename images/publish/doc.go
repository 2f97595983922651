// Package publish sends images to registries, and changes the labels of images
// that are there.
//
// What a registry has already is not sent again, blobs are taken over from other
// repositories of the same registry where it allows that, and whatever fails for
// a reason that may pass is tried again. A tag is written last, when everything
// that it leads to is there, so that nobody ever sees a part of an image.
//
// Not in this package: making images (images/build), reading them (images/source)
// and signing them (images/sign).
package publish
