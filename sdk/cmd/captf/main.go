// Command captf is the module author's command: it scaffolds modules, plays a
// cluster's life on them, and makes, publishes and tries out their images. For those
// who run clusters it says why one is stuck, and looks at them before they are moved,
// changing nothing.
//
// Not in this command: checks of a module's text (tfcapi-lint), and anything that
// changes a Kubernetes cluster.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/captf-toolkit/captf/images/smoke"
)

func main() {
	smoke.Init()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
