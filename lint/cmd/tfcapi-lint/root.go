package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/captf-toolkit/captf/contract/versions"
)

// run executes one command line and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	out := &results{w: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.Execute()
	if out.err != nil {
		// Whatever came of it is not known to the reader.
		err = unreadable(fmt.Errorf("writing to standard output: %w", out.err))
	}
	code, show := codeOf(err)
	if show {
		fmt.Fprintf(stderr, "tfcapi-lint: %s\n", err)
	}
	return code
}

// results is standard output, and the first error of writing to it: some
// writers, such as that of the help, do not tell.
type results struct {
	w   io.Writer
	err error
}

func (r *results) Write(p []byte) (int, error) {
	n, err := r.w.Write(p)
	if err != nil && r.err == nil {
		r.err = err
	}
	return n, err
}

func newRoot() *cobra.Command {
	var version, explain string
	var list bool
	root := &cobra.Command{
		Use:   "tfcapi-lint",
		Short: "Check Terraform and OpenTofu modules and their images against the CAPTF contract",
		Long: `tfcapi-lint checks whether a Terraform or OpenTofu module keeps the CAPTF module
contract, and whether its image keeps the image contract. It reads only: it runs
nothing, and needs no runtime; a network is needed only for an image in a registry.

Exit codes:
  0  no error; with --strict no warning either
  1  at least one error, or with --strict a warning
  2  the module or image cannot be read, or the result cannot be written
  3  the command line is wrong`,
		Example: `  tfcapi-lint module --role machine --strict ./modules/machine
  tfcapi-lint module --recursive ./modules
  tfcapi-lint image --role machine --strict registry.example/machine:v1.0.0
  tfcapi-lint schema --role cluster ./modules/cluster
  tfcapi-lint --explain output/provider-id-list-shape`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case version != "":
				return printVersion(cmd.OutOrStdout(), version)
			case list:
				return listRules(cmd.OutOrStdout())
			case explain != "":
				return explainRule(cmd.OutOrStdout(), explain)
			}
			cmd.SetOut(cmd.ErrOrStderr())
			if err := cmd.Usage(); err != nil {
				return err
			}
			return exit(exitUsage)
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = invalidFlag(invalid)
		}
		return usage(fmt.Errorf("%w\nrun `%s --help` for the flags", err, cmd.CommandPath()))
	})
	f := root.Flags()
	f.StringVar(&version, "version", "", "print the version; the `form` raw prints all that the build recorded")
	f.Lookup("version").NoOptDefVal = "short"
	f.StringVar(&explain, "explain", "", "explain the check with this `ID`")
	f.BoolVar(&list, "list", false, "list all checks")
	must(root.RegisterFlagCompletionFunc("explain", completeIDs))
	root.SetHelpCommand(newHelp(root))
	root.AddCommand(newModule(), newImage(), newSchema(), newVersion())
	return root
}

// invalidFlag says what is wrong with the value of a flag.
func invalidFlag(e *pflag.InvalidValueError) error {
	name := "--" + e.GetFlag().Name
	if e.GetFlag().Value.Type() == "bool" {
		return fmt.Errorf("%s: %q is neither true nor false", name, e.GetValue())
	}
	return fmt.Errorf("%s: %w", name, e.Unwrap())
}

// newHelp returns the help command, which tells a wrong command from a right one.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			// Find stops at the last word that is a command; what is left must be nothing.
			cmd, rest, err := root.Find(args)
			if cmd == nil || err != nil || len(rest) > 0 {
				return usage(fmt.Errorf("help: there is no command %q; `%s --help` lists them", strings.Join(args, " "), root.Name()))
			}
			return cmd.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, sub := range root.Commands() {
				if len(args) == 0 && sub.IsAvailableCommand() {
					names = append(names, sub.Name()+"\t"+sub.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// must stops a program whose flags are declared wrongly.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func completeIDs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, r := range known() {
		out = append(out, r.ID+"\t"+r.Summary)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func completeContracts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return versions.Names(), cobra.ShellCompDirectiveNoFileComp
}

func completeDirs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
