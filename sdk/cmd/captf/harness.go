package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
	"github.com/captf-toolkit/captf/sdk/harness/rke2"
)

// controlPlanes are those that can be played, the default first.
func controlPlanes() []*harness.ControlPlane { return []*harness.ControlPlane{kcp.New(), rke2.New()} }

func newHarnessCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "harness",
		Short: "Play a cluster's life on a set of modules",
		Args:  noSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHarnessRunCommand(), newHarnessListCommand(), newHarnessDiffCommand())
	return cmd
}

// findControlPlane returns the control plane with the given name.
func findControlPlane(name string) (*harness.ControlPlane, error) {
	var names []string
	for _, cp := range controlPlanes() {
		if cp.Name == name {
			return cp, nil
		}
		names = append(names, cp.Name)
	}
	return nil, fmt.Errorf("parsing --control-plane %q: it is one of %s", name, strings.Join(names, ", "))
}

func scenarioIDs(cp *harness.ControlPlane) []string {
	ids := make([]string, 0, len(cp.Scenarios))
	for _, s := range cp.Scenarios {
		ids = append(ids, s.ID)
	}
	return ids
}
