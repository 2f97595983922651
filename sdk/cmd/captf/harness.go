package main

import (
	"errors"
	"fmt"
	"slices"
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

// chooseScenarios returns the scenarios with the given ids, in the order given
// and each once; without any the control plane's first.
func chooseScenarios(cp *harness.ControlPlane, ids []string, all bool) ([]harness.Scenario, error) {
	switch {
	case all && len(ids) > 0:
		return nil, errors.New("--all and --scenario exclude each other")
	case all:
		return cp.Scenarios, nil
	case len(ids) == 0:
		return cp.Scenarios[:1], nil
	}
	var chosen []harness.Scenario
	for n, id := range ids {
		at := slices.IndexFunc(cp.Scenarios, func(s harness.Scenario) bool { return strings.EqualFold(s.ID, id) })
		if at < 0 {
			return nil, fmt.Errorf("parsing --scenario %q: the control plane %s has %s", id, cp.Name, strings.Join(scenarioIDs(cp), ", "))
		}
		if !slices.Contains(ids[:n], id) {
			chosen = append(chosen, cp.Scenarios[at])
		}
	}
	return chosen, nil
}

func scenarioIDs(cp *harness.ControlPlane) []string {
	ids := make([]string, 0, len(cp.Scenarios))
	for _, s := range cp.Scenarios {
		ids = append(ids, s.ID)
	}
	return ids
}
