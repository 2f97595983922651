// Package image checks module images against the image contract: what is in
// them, who can read it, what their labels say, and, with the checks of package
// rules, the module inside (lint.md 5, image.md). An image is read, never run.
//
// Not in this package: reading references, layers and file systems
// (images/source, images/rootfs), the contract itself (contract/image), and the
// checks of modules (lint/rules).
package image
