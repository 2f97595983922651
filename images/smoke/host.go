package smoke

import (
	"runtime"

	"github.com/captf-toolkit/captf/contract/image"
)

// Host is the platform of this machine, the only one whose images can be tried out.
func Host() image.Platform { return image.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH} }
