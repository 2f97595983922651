// Command runner is what a Job of the provider runs: in the module's container it runs an operation of the module, beside it
// the broker that keeps the module's state, and before both it copies itself to where the module's container finds it.
//
// Not in this command: anything that needs to see more than one object (cmd/manager).
package main

import (
	"os"

	"github.com/captf-toolkit/captf/provider/internal/broker"
	"github.com/captf-toolkit/captf/provider/internal/runner"
	"github.com/captf-toolkit/captf/provider/internal/state"
	"github.com/captf-toolkit/captf/provider/internal/version"
)

func main() {
	os.Exit(runner.Main(os.Args[1:], os.Stdout, os.Stderr, version.Get().Version, broker.NewCommand(), state.NewCommand()))
}
