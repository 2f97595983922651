// Command captf is the module author's command: it scaffolds modules, plays a
// cluster's life on them, and makes, publishes and tries out their images.
//
// Not in this command: checks of a module's text (tfcapi-lint) and anything that
// needs a Kubernetes cluster.
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
