package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/images/source"
)

func newImageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Build, publish, describe, try out, sign and verify module images",
		Args:  noSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newImageBuildCommand(), newImagePublishCommand(), newImageLabelCommand(), newImageInspectCommand(), newImageUnpackCommand(), newImageSmokeCommand(),
		newImageSBOMCommand(), newImageAttestCommand(), newImageSignCommand(), newImageVerifyCommand(),
	)
	return cmd
}

// imageReference is what the argument IMAGE may be, for help texts.
const imageReference = `IMAGE is registry/repository:tag, registry/repository@sha256:…, or oci:DIR for an OCI
layout directory.`

// openOptions say how to open an image, with lines of progress on stderr.
func openOptions(cmd *cobra.Command, insecure bool) source.Options {
	return source.Options{
		Insecure: insecure, UserAgent: "captf/" + currentVersion().Version,
		Progress: func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) },
	}
}

// insecureFlag defines --insecure.
func insecureFlag(cmd *cobra.Command, insecure *bool) {
	cmd.Flags().BoolVar(insecure, "insecure", false, "allow a registry that speaks plain HTTP")
}
