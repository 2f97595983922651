// Command demoprovider shows the provider at work on this machine: a real control plane, the manifests of a release, the
// manager in a pod, and Jobs that run the no-op modules with real OpenTofu. Each step is a line with the time it took;
// whatever a step says can be looked at with the kubectl commands that are shown.
//
// It plays two parts that are not here: cert-manager, which would make the certificate of the webhooks, and the
// controllers of Cluster API, which would tie the provider's objects to their owners and say when a cluster's
// infrastructure is provisioned.
//
// Not in this command: assertions in detail. The tests below provider make those; this one fails if something does not
// become Ready, or if something is left in the end.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	dir := flag.String("dir", "", "directory for files, which exists")
	keep := flag.Bool("keep", false, "wait for Enter before everything is deleted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	d := &demo{dir: *dir, keep: *keep, out: os.Stdout}
	err := d.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo-provider:", err)
		os.Exit(1)
	}
}
