package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/sdk/simcloud"
	"github.com/captf-toolkit/captf/sdk/simcloud/persona"
)

// simulatedProvider is one line of captf simcloud list.
type simulatedProvider struct {
	Source      string   `json:"source"`
	Version     string   `json:"version,omitempty"`
	File        string   `json:"file,omitempty"`
	DerivedFrom string   `json:"derivedFrom,omitempty"`
	Pruned      bool     `json:"pruned"`
	Persona     string   `json:"persona,omitempty"`
	Resources   []string `json:"resources"`
	DataSources []string `json:"dataSources"`
	Ephemerals  []string `json:"ephemeralResources"`
}

func newSimcloudListCommand() *cobra.Command {
	var output string
	var files []string
	var types bool
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the providers that can be simulated",
		Long: `List the providers that can be simulated: those whose recorded schemas are built in,
and those of --schema. A schema is real if the provider itself printed it, and derived
if it was made from language bindings; pruned if it has only some of the types.

Exit codes: ` + strconv.Itoa(exitOK) + ` listed; ` + strconv.Itoa(exitError) + ` a schema cannot be read; ` + strconv.Itoa(exitUsage) + ` the command line is wrong.`,
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			catalog, err := catalogOf(files)
			if err != nil {
				return err
			}
			entries, err := catalog.Entries()
			if err != nil {
				return err
			}
			list := make([]simulatedProvider, 0, len(entries))
			for _, e := range entries {
				list = append(list, describeEntry(e))
			}
			if output == "json" {
				return writeJSON(cmd.OutOrStdout(), list)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "PROVIDER\tVERSION\tSCHEMA\tBEHAVIOUR\tRESOURCES\tDATA SOURCES")
			for _, p := range list {
				schema := "real"
				if p.DerivedFrom != "" {
					schema = "derived from " + p.DerivedFrom
				}
				if p.Pruned {
					schema += ", pruned"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\n", p.Source, cmp.Or(p.Version, "-"), schema, cmp.Or(p.Persona, "generic"), len(p.Resources), len(p.DataSources))
				if types {
					for kind, names := range map[string][]string{"": p.Resources, "data ": p.DataSources, "ephemeral ": p.Ephemerals} {
						for _, n := range names {
							fmt.Fprintf(w, "  %s%s\n", kind, n)
						}
					}
				}
			}
			return w.Flush()
		},
	}
	cmd.Flags().StringArrayVar(&files, "schema", nil, "a further schema, as FILE or SOURCE=FILE; may be repeated")
	cmd.Flags().BoolVar(&types, "types", false, "list the types too (text output)")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "format of the result: text or json")
	complete(cmd, "output", "text", "json")
	return cmd
}

func describeEntry(e simcloud.Entry) simulatedProvider {
	p := simulatedProvider{
		Source: e.Source, Version: e.Version, File: e.File, DerivedFrom: e.DerivedFrom, Pruned: e.Pruned,
		Resources: slices.Sorted(maps.Keys(e.Types.Resources)), DataSources: slices.Sorted(maps.Keys(e.Types.Data)), Ephemerals: slices.Sorted(maps.Keys(e.Types.Ephemerals)),
	}
	if known := persona.For(e.Source); known != nil {
		p.Persona = known.Title
	}
	return p
}
