// Package docs keeps the documentation and the architecture honest. Its tests run the commands that the README and the
// pages beside this file show, follow their links, and hold every package to the import borders that the architecture
// page describes.
//
// How a page says what is to be run is written in CONTRIBUTING.md, section "Documentation".
//
// Not in this package: any code that the product uses, and the generated reference pages' generators, which live with
// the tables they print.
package docs
