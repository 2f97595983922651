package image

import (
	"fmt"
	"regexp"
	"strings"
)

// Platform is what a runtime and its providers are built for.
type Platform struct {
	// OS and Arch are as Go names them, such as linux and amd64.
	OS, Arch string
}

// DefaultPlatform is the one that is taken from an index when nothing else is
// asked for (lint.md 5.1).
func DefaultPlatform() Platform { return Platform{OS: "linux", Arch: "amd64"} }

// Platforms returns those that an image should have (image.md 6).
func Platforms() []Platform {
	return []Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}
}

var platformPart = regexp.MustCompile(`^[a-z0-9]+$`)

// ParsePlatform reads os/arch, such as linux/arm64.
func ParsePlatform(s string) (Platform, error) {
	os, arch, ok := strings.Cut(s, "/")
	p := Platform{OS: os, Arch: arch}
	if !ok || !p.Valid() {
		return Platform{}, fmt.Errorf("parsing platform %q: it has the form os/arch, such as linux/amd64", s)
	}
	return p, nil
}

// Valid tells that both parts have the syntax that the runtimes accept.
func (p Platform) Valid() bool {
	return platformPart.MatchString(p.OS) && platformPart.MatchString(p.Arch)
}

// String returns os/arch.
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Underscored returns os_arch, as provider packages are named.
func (p Platform) Underscored() string { return p.OS + "_" + p.Arch }
