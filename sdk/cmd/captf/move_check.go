package main

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/sdk/move"
	"github.com/captf-toolkit/captf/sdk/move/live"
)

func newMoveCheckCommand() *cobra.Command {
	var from, to live.Kubeconfig
	var namespace, cluster, output string
	cmd := &cobra.Command{
		Use:   "check [flags]",
		Short: "Say what clusterctl move would do with a namespace, and what it would leave behind",
		Long: `Say what clusterctl move would do with a namespace: which objects it would move, which
it would leave behind though something that moves needs them, what keeps it from
starting, and what the target lacks. Each finding comes with the command that fixes it.

It works on the clusters of any Cluster API provider. Nothing is changed, and of Secrets
and ConfigMaps only the metadata is read. It needs get and list on what clusterctl needs
them on; where it may not see more it says so. Without --to-kubeconfig or
--to-kubeconfig-context only the source is looked at.

Exit codes: ` + strconv.Itoa(exitOK) + ` nothing stands in the way; ` + strconv.Itoa(exitFailed) + ` there are errors; ` + strconv.Itoa(exitError) + ` a management cluster could not be
read; ` + strconv.Itoa(exitUsage) + ` the command line is wrong.`,
		Example: `  # May the clusters of namespace prod move?
  captf move check -n prod --to-kubeconfig target.kubeconfig

  # As a gate of a pipeline, with the findings as JSON
  captf move check -n prod --to-kubeconfig target.kubeconfig -o json > check.json &&
    clusterctl move -n prod --to-kubeconfig target.kubeconfig`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Errorf("no argument is needed, but there is %q; --namespace and --cluster say what to check", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			o := move.Options{Namespace: namespace, Cluster: cluster, Progress: func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }}
			var current string
			var err error
			if o.Source, current, err = openManagement(from); err != nil {
				return err
			}
			o.Namespace = cmp.Or(o.Namespace, current)
			if to != (live.Kubeconfig{}) {
				// A context alone is one of the same file.
				to.Path = cmp.Or(to.Path, from.Path)
				target, _, err := openManagement(to)
				if err != nil {
					return fmt.Errorf("opening the target: %w", err)
				}
				o.Target = &target
			}
			report, err := move.Check(cmd.Context(), o)
			if err != nil {
				return err
			}
			if output == "json" {
				err = report.WriteJSON(cmd.OutOrStdout())
			} else {
				err = report.WriteText(cmd.OutOrStdout())
			}
			switch {
			case err != nil:
				return fmt.Errorf("writing the report: %w", err)
			case !report.Ready:
				return exit(exitFailed)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&from.Path, "kubeconfig", "", "kubeconfig of the source (default that of kubectl)")
	flags.StringVar(&from.Context, "kubeconfig-context", "", "context in it (default the current one)")
	flags.StringVar(&to.Path, "to-kubeconfig", "", "kubeconfig of the target (default none: only the source is looked at)")
	flags.StringVar(&to.Context, "to-kubeconfig-context", "", "context of the target, in --to-kubeconfig or else in --kubeconfig")
	flags.StringVarP(&namespace, "namespace", "n", "", "namespace to move (default that of the source's context)")
	flags.StringVar(&cluster, "cluster", "", "show only what concerns this Cluster of the namespace")
	flags.StringVarP(&output, "output", "o", "text", "format of the result: text or json")
	complete(cmd, "output", "text", "json")
	return cmd
}

// openManagement returns a management cluster to read, and the namespace of its context.
func openManagement(k live.Kubeconfig) (move.Access, string, error) {
	config, namespace, err := k.Config()
	if err != nil {
		return move.Access{}, "", err
	}
	reader, err := live.New(config, "captf/"+currentVersion().Version)
	if err != nil {
		return move.Access{}, "", err
	}
	return move.Access{Reader: reader, Kubeconfig: k.Path, Context: k.Context}, namespace, nil
}
