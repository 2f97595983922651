package main

import (
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/attest"
)

func newImageSBOMCommand() *cobra.Command {
	var platform string
	var insecure bool
	cmd := &cobra.Command{
		Use:   "sbom [flags] IMAGE",
		Short: "Write the bill of materials of an image",
		Long: `Write the bill of materials of an image to stdout, as SPDX 2.3 JSON.

It lists the module, the providers in its mirror, the runtime, and the Go modules
that these are built from. It is made of the image alone: the same image gives the
same text. "captf image attest" attaches it to the image.

` + imageReference + ` tarball:FILE works too.`,
		Args: exactly(1, "one image"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var want *v1.Platform
			if platform != "" {
				p, err := image.ParsePlatform(platform)
				if err != nil {
					return usage(err)
				}
				want = &v1.Platform{OS: p.OS, Architecture: p.Arch}
			}
			src, err := openImage(cmd, args[0], insecure)
			if err != nil {
				return err
			}
			defer src.Close()
			img, err := src.Image(cmd.Context(), want)
			if err != nil {
				return err
			}
			d, err := attest.DescribeImage(cmd.Context(), img, "")
			if err != nil {
				return err
			}
			raw, err := attest.SBOM(d, toolName())
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(raw)
			return err
		},
	}
	cmd.Flags().StringVar(&platform, "platform", "", "platform, as os/arch (default "+image.DefaultPlatform().String()+" of an index)")
	insecureFlag(cmd, &insecure)
	return cmd
}

// toolName names this program in a bill of materials.
func toolName() string { return "captf-" + strings.Trim(currentVersion().Version, "()") }
