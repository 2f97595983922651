// Package version says which build of the manager and the runner this is.
//
// Not in this package: versions of the module contract (contract/versions).
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Stamped by a release build: -ldflags "-X github.com/captf-toolkit/captf/provider/internal/version.version=v1.2.3", and so
// on. Without it, what the Go toolchain recorded is used.
var version, commit, date string

// Info is a build.
type Info struct {
	// Version such as v0.1.0.
	Version string `json:"version"`
	// Commit that it is built from; empty if that is not known.
	Commit string `json:"commit"`
	// Date of the commit or the build, as RFC 3339; empty if that is not known.
	Date string `json:"date"`
	// Go is the version of the toolchain.
	Go string `json:"go"`
	// Platform such as linux/amd64.
	Platform string `json:"platform"`
}

// Get returns the build of this binary.
func Get() Info {
	v := Info{Version: version, Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Version = cmp.Or(v.Version, info.Main.Version)
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = cmp.Or(v.Commit, s.Value)
			case "vcs.time":
				v.Date = cmp.Or(v.Date, s.Value)
			}
		}
	}
	v.Version = cmp.Or(v.Version, "(devel)")
	return v
}

// UserAgent is how the program with this name introduces itself.
func UserAgent(program string) string {
	v := Get()
	return program + "/" + v.Version + " (" + v.Platform + ")"
}
