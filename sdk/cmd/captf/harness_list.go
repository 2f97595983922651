package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// listedScenario is a scenario in the result of captf harness list.
type listedScenario struct {
	ControlPlane string `json:"controlPlane"`
	ID           string `json:"id"`
	Title        string `json:"title"`
	// Default tells that it is played when none is chosen.
	Default bool `json:"default"`
}

func newHarnessListCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List control planes and their scenarios",
		Args:  exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			var list []listedScenario
			for _, cp := range controlPlanes() {
				for n, s := range cp.Scenarios {
					list = append(list, listedScenario{ControlPlane: cp.Name, ID: s.ID, Title: s.Title, Default: n == 0})
				}
			}
			if output == "json" {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(list)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "CONTROL PLANE\tSCENARIO\tWHAT IS PLAYED")
			for _, s := range list {
				title := s.Title
				if s.Default {
					title += " (default)"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", s.ControlPlane, s.ID, title)
			}
			return w.Flush()
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "format of the list: text or json")
	complete(cmd, "output", "text", "json")
	return cmd
}
