package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/scenario"
)

// listedScenario is a scenario in the result of captf harness list.
type listedScenario struct {
	ControlPlane string `json:"controlPlane"`
	ID           string `json:"id"`
	Title        string `json:"title"`
	// Default tells that it is played when none is chosen.
	Default bool `json:"default"`
	// Source is where it comes from.
	Source string `json:"source,omitempty"`
	// Needs says what it cannot be played without.
	Needs []string `json:"needs,omitempty"`
	// Asserts are the requirements that it is there to judge.
	Asserts []string `json:"asserts,omitempty"`
	// Stalls is the gate at which it is expected to stall.
	Stalls string `json:"stalls,omitempty"`
}

func newHarnessListCommand() *cobra.Command {
	var output, plane string
	var ids []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List control planes and their scenarios",
		Long: `List control planes and their scenarios, with what each needs.

With --output yaml the file of one scenario is printed, to start a scenario of
one's own from.`,
		Example: `  # What can be played under RKE2
  captf harness list --control-plane rke2

  # A scenario file to change
  captf harness list --scenario K4 --output yaml > mine.yaml`,
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, "text", "json", "yaml"); err != nil {
				return err
			}
			list, texts, err := listScenarios(plane, ids)
			if err != nil {
				return usage(err)
			}
			switch output {
			case "json":
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(list)
			case "yaml":
				// One file may be a scenario of several control planes.
				if len(slices.Compact(texts)) != 1 {
					return usage(errors.New("--output yaml prints one scenario: name it with --scenario ID, and --control-plane if several have it"))
				}
				_, err := fmt.Fprint(cmd.OutOrStdout(), texts[0])
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "CONTROL PLANE\tSCENARIO\tNEEDS\tWHAT IS PLAYED")
			for _, s := range list {
				title, needs := s.Title, strings.Join(s.Needs, ", ")
				if s.Default {
					title += " (default)"
				}
				if needs == "" {
					needs = "-"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.ControlPlane, s.ID, needs, title)
			}
			return w.Flush()
		},
	}
	cmd.Flags().StringVar(&plane, "control-plane", "", "list only the scenarios of this control plane: "+strings.Join(controlPlaneNames(controlPlanes()), ", "))
	cmd.Flags().StringSliceVar(&ids, "scenario", nil, "list only the scenarios with these ids")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "format of the list: text, json, or yaml for the file of one scenario")
	complete(cmd, "output", "text", "json", "yaml")
	complete(cmd, "control-plane", controlPlaneNames(controlPlanes())...)
	return cmd
}

// listScenarios returns the scenarios that are asked for, and their files.
func listScenarios(plane string, ids []string) (list []listedScenario, texts []string, err error) {
	planes := controlPlanes()
	if plane != "" {
		cp, err := findControlPlane(plane)
		if err != nil {
			return nil, nil, err
		}
		planes = []*harness.ControlPlane{cp}
	}
	found := map[string]bool{}
	for _, cp := range planes {
		for n, s := range cp.Scenarios {
			at := slices.IndexFunc(ids, func(id string) bool { return strings.EqualFold(id, s.ID) })
			if len(ids) > 0 && at < 0 {
				continue
			}
			if at >= 0 {
				found[ids[at]] = true
			}
			l := listedScenario{
				ControlPlane: cp.Name, ID: s.ID, Title: s.Title, Default: n == 0, Source: s.Source, Needs: scenario.Needs(s), Asserts: s.Asserts,
			}
			if s.Stalls != nil {
				l.Stalls = s.Stalls.Gate
			}
			list, texts = append(list, l), append(texts, s.Text)
		}
	}
	for _, id := range ids {
		if !found[id] {
			return nil, nil, fmt.Errorf("parsing --scenario %q: there is no such scenario; captf harness list shows all", id)
		}
	}
	return list, texts, nil
}
