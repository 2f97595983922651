package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/images/regular"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/compare"
	"github.com/captf-toolkit/captf/sdk/report"
)

func newHarnessDiffCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "diff [flags] A.json B.json",
		Short: "Compare two runs by their JSON reports",
		Long: `Compare two runs by their JSON reports, those of captf harness run --output json or
captf contract test --output json.

Scenarios are compared by control plane and id: verdicts, gates at which a run
stalled, requirements, the order of events by kind of event and object (names are
left aside), the number of module runs, and what was left. Times are shown with
their ratio, but do not count. For one set of modules and one seed two runs are
the same; what differs is what a change of the modules or of captf has done.

Exit codes: ` + strconv.Itoa(exitOK) + ` the runs are the same; ` + strconv.Itoa(exitFailed) + ` they differ; ` + strconv.Itoa(exitError) + ` the difference could not be written;
` + strconv.Itoa(exitUsage) + ` the command line is wrong, or a file is no report.`,
		Example: `  # What a change of a module does to the lives of its clusters
  captf harness run --all --output json modules > before.json
  # … change the module …
  captf harness run --all --output json modules > after.json
  captf harness diff before.json after.json`,
		Args: exactly(2, "the name of two files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			a, err := readReport(args[0])
			if err != nil {
				return usage(err)
			}
			b, err := readReport(args[1])
			if err != nil {
				return usage(err)
			}
			d := compare.Results(a, b)
			if output == "json" {
				err = report.DiffJSON(cmd.OutOrStdout(), d)
			} else {
				err = report.DiffText(cmd.OutOrStdout(), d, report.DiffOptions{Colors: colourful(cmd.OutOrStdout()), A: args[0], B: args[1]})
			}
			switch {
			case err != nil:
				return fmt.Errorf("writing the difference: %w", err)
			case !d.Same:
				return exit(exitFailed)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "format of the result: text or json")
	complete(cmd, "output", "text", "json")
	return cmd
}

// readReport reads a JSON report.
func readReport(path string) (results []*harness.Result, err error) {
	f, _, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading report: %w", err)
	}
	defer closeFile(f, &err)
	if results, err = report.Read(f); err != nil {
		return nil, fmt.Errorf("reading report %s: %w", path, err)
	}
	return results, nil
}

// closeFile closes a file that was read; an error before counts more.
func closeFile(f *os.File, err *error) {
	if closeErr := f.Close(); *err == nil {
		*err = closeErr
	}
}
