package rke2

import (
	"embed"
	"io/fs"
	"sync"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/scenario"
)

//go:embed scenarios/*.yaml
var files embed.FS

// scenarios are those of control-planes.md 9.2, those of 9.1 that are the same
// under this control plane, and those of faults; the first is the default. They
// are read once.
var scenarios = sync.OnceValue(func() []harness.Scenario {
	own, err := fs.Sub(files, "scenarios")
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return scenario.Builtins(table(), own, scenario.Common())
})
