// Package containerfile writes the Containerfiles for people who build with
// podman, docker or buildx: a base image for each runtime, and a module image on
// top of it. They are rendered from the tables of contract/image, which our own
// builder works from as well, so the two ways lead to the same image; a test
// evaluates the files and compares.
//
// Not in this package: building images (package build).
package containerfile

//go:generate go test . -run ^TestFiles$ -update
