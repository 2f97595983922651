// Command manager is the provider in a cluster: the controllers of its kinds, and their admission.
//
// Not in this command: what runs in a Job (cmd/runner).
package main

import (
	"fmt"
	"os"

	_ "golang.org/x/crypto/x509roots/fallback" // the image has no certificates of authorities; those of a system win
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/captf-toolkit/captf/provider/internal/manager"
)

func main() {
	if err := manager.NewCommand(manager.Run).ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}
