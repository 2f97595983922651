// Package smoke tries a module image out: it unpacks the image and runs its
// runtime on its module, offline and with the environment of a Job, as far as
// validate; a module that needs no provider is applied and destroyed as well
// (image.md 12). What passes has a runtime that starts, a complete mirror, and
// code that fits the providers' schemas.
//
// On Linux the runtime runs in namespaces of its own: the image is its root,
// read-only but for the work directory and /tmp, and there is no network. What
// the machine does not allow is left out and reported.
//
// Not in this package: the checks of what an image holds (lint/image), and
// playing a cluster's life (sdk/harness).
package smoke
