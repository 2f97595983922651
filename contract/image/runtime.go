package image

import (
	"fmt"
	"path"
	"strings"
)

// Runtime is a value of the label io.captf.runtime.
type Runtime string

// The runtimes.
const (
	OpenTofu  Runtime = "tofu"
	Terraform Runtime = "terraform"
)

// Runtimes returns the runtimes there are.
func Runtimes() []Runtime { return []Runtime{OpenTofu, Terraform} }

// ParseRuntime returns the runtime with the name s.
func ParseRuntime(s string) (Runtime, error) {
	for _, r := range Runtimes() {
		if string(r) == s {
			return r, nil
		}
	}
	return "", fmt.Errorf("parsing runtime %q: it is tofu or terraform", s)
}

// RuntimeOfFile tells which runtime the name of a file suggests, "" when it
// suggests none: /usr/local/bin/tofu is OpenTofu.
func RuntimeOfFile(name string) Runtime {
	base := strings.ToLower(path.Base(name))
	for _, r := range []struct {
		prefix  string
		runtime Runtime
	}{{"tofu", OpenTofu}, {"opentofu", OpenTofu}, {"terraform", Terraform}} {
		if strings.HasPrefix(base, r.prefix) {
			return r.runtime
		}
	}
	return ""
}

// BinaryPath is where an image of ours has the binary of the runtime, to which
// RuntimePath links (image.md 7.1).
func BinaryPath(r Runtime) string { return "/usr/local/bin/" + string(r) }
