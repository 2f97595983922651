package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// run executes the command line and returns the exit code. Results go to stdout,
// everything else to stderr.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	stderr = &lines{w: stderr}
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	code, show := exitCode(err)
	if show {
		fmt.Fprintf(stderr, "Error: %v\n", err)
		if code == exitUsage {
			fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		}
	}
	return code
}

// newRootCommand returns the command with all its subcommands.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "captf",
		Short: "Write OpenTofu and Terraform modules that are Cluster API providers",
		Long: `Write OpenTofu and Terraform modules that are Cluster API providers.

Exit codes of every subcommand: 0 done; 1 it ran and the answer is no; 2 it could
not run; 3 the command line is wrong.`,
		Args:          noSubcommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       currentVersion().Version,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(plainFlagError(err)) })
	root.SetVersionTemplate("{{ .Name }} {{ .Version }}\n")
	root.SetHelpCommand(newHelpCommand(root))
	root.AddCommand(newScaffoldCommand(), newHarnessCommand(), newContractCommand(), newSimcloudCommand(), newImageCommand(),
		newDiagnoseCommand(), newMoveCommand(), newVersionCommand())
	return root
}

// newHelpCommand returns captf help, which tells a wrong command from a right one.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			// Find stops at the last word that is a command; what is left must be nothing.
			cmd, rest, err := root.Find(args)
			if cmd == nil {
				return usage(err)
			}
			if len(rest) > 0 {
				return noSubcommand(cmd, rest)
			}
			return cmd.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if cmd, rest, err := root.Find(args); err == nil && len(rest) == 0 {
				for _, sub := range cmd.Commands() {
					if sub.IsAvailableCommand() {
						names = append(names, sub.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// noSubcommand is the argument check of a command that only has subcommands.
func noSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if len(names) == 0 {
		return usage(fmt.Errorf("%s has no command %q", cmd.CommandPath(), args[0]))
	}
	return usage(fmt.Errorf("%s has no command %q: there are %s", cmd.CommandPath(), args[0], strings.Join(names, ", ")))
}

// exactly asks for n arguments, described by what.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usage(fmt.Errorf("%s is needed, but there are %d arguments", what, len(args)))
	}
}

// checkOutput refuses a format that is not among formats.
func checkOutput(format string, formats ...string) error {
	if slices.Contains(formats, format) {
		return nil
	}
	return usage(fmt.Errorf("parsing --output %q: it is one of %s", format, strings.Join(formats, ", ")))
}

// flagForms say what the value of a flag must be, by the flag's type.
var flagForms = map[string]string{
	"uint64":   "a whole number that is not negative",
	"int":      "a whole number",
	"bool":     "true or false",
	"duration": "a duration such as 90s, 30m or 2h",
}

// plainFlagError says of a flag's value what it must be, rather than which
// function of the library could not read it.
func plainFlagError(err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	form, known := flagForms[wrong.GetFlag().Value.Type()]
	if !known {
		return err
	}
	return fmt.Errorf("parsing --%s %q: it must be %s", wrong.GetFlag().Name, wrong.GetValue(), form)
}
