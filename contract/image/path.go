package image

import "path"

// The paths that make a module image (image.md 2). Discovery is by path only:
// no label changes what a Job runs.
const (
	// ModulePath is the directory of the module, with every local module that it calls.
	ModulePath = "/captf/module"
	// RuntimePath is the runtime: an executable regular file, or a symbolic link to one in the image.
	RuntimePath = "/captf/runtime"
	// ProvidersPath is the optional provider mirror.
	ProvidersPath = "/captf/providers"
)

// The user of a module image (image.md 5): numeric and not root, so that a Job
// fits the Pod Security profile "restricted".
const (
	UserID   = 65532
	UserName = "captf"
	// User is the value of the image configuration.
	User = "65532:65532"
)

// Home is the home directory of the user in an image of ours.
const Home = "/tmp"

// WorkingDir is the working directory of an image of ours, for running it by
// hand; a Job sets its own (image.md 7.1).
const WorkingDir = "/captf"

// Use is what a Job does with a path of the image.
type Use int

// The uses of a path.
const (
	// Content is read by the Job.
	Content Use = iota
	// Reserved is a mount point of the Job, which hides whatever the image has there.
	Reserved
	// Shadowed is hidden as well, but an image may well have it, such as /tmp.
	Shadowed
)

// Path is one fixed path of a module image.
type Path struct {
	// Path is absolute and has no slash at its end.
	Path string
	// Use is what a Job does with it, Required whether a Job stops without it.
	Use      Use
	Required bool
	// Doc says what is there.
	Doc string
}

// Paths returns the fixed paths (image.md 2).
func Paths() []Path {
	return []Path{
		{ModulePath, Content, true, "the role module: at least one module file at its top level, plus every local module it calls"},
		{RuntimePath, Content, true, "the OpenTofu or Terraform binary: a regular file, or a symbolic link to one inside the image; executable by the image's user"},
		{ProvidersPath, Content, false, "filesystem mirror of every provider that the module requires; without it init downloads them"},
		{"/captf/work", Reserved, false, "scratch directory of the run"},
		{"/captf/bin", Reserved, false, "the runner's binary"},
		{"/captf/config", Reserved, false, "the run's configuration"},
		{"/var/run/captf/credentials", Reserved, false, "files of the identity"},
		{"/captf/plan-key", Shadowed, false, "reserved; the plan key stays in the broker"},
		{"/tmp", Shadowed, false, "temporary files of the run"},
	}
}

// PathsOf returns the fixed paths that have the use.
func PathsOf(use Use) []string {
	var out []string
	for _, p := range Paths() {
		if p.Use == use {
			out = append(out, p.Path)
		}
	}
	return out
}

// Within tells that the image path p is dir or lies below it. Both are absolute.
func Within(dir, p string) bool {
	dir, p = path.Clean(dir), path.Clean(p)
	return p == dir || dir == "/" || len(p) > len(dir) && p[:len(dir)] == dir && p[len(dir)] == '/'
}
