package main

import (
	"github.com/spf13/cobra"
)

func newSimcloudCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simcloud",
		Short: "Simulated clouds: record provider schemas, list them, serve them to a runtime",
		Args:  noSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSimcloudListCommand(), newSimcloudRecordCommand(), newSimcloudServeCommand())
	return cmd
}
