package main

import "github.com/spf13/cobra"

func newMoveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "move",
		Short: "Look at clusters before they are moved between management clusters",
		Args:  noSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMoveCheckCommand())
	return cmd
}
