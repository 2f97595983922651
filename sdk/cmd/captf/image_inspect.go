package main

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/inspect"
	"github.com/captf-toolkit/captf/images/publish"
)

func newImageInspectCommand() *cobra.Command {
	var platform, output string
	var insecure, shallow bool
	cmd := &cobra.Command{
		Use:   "inspect [flags] IMAGE",
		Short: "Show what an image is and what is in it",
		Long: `Show the platforms, labels, layers, module files and providers of an image, and what
is attached to it. Nothing is judged: "tfcapi-lint image" does that.

` + imageReference + ` tarball:FILE works too.`,
		Args: exactly(1, "one image"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			o := inspect.Options{Shallow: shallow}
			if platform != "" {
				p, err := image.ParsePlatform(platform)
				if err != nil {
					return usage(err)
				}
				o.Platform = &v1.Platform{OS: p.OS, Architecture: p.Arch}
			}
			src, err := openImage(cmd, args[0], insecure)
			if err != nil {
				return err
			}
			defer src.Close()
			// Not every registry tells what is attached; the image can be shown all the same.
			if o.Set, err = publish.Collect(cmd.Context(), src, false, publishOptions(cmd, insecure, publish.DefaultJobs)); err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "Warning: what is attached is not shown: %v\n", err)
			}
			report, err := inspect.Inspect(cmd.Context(), src, o)
			if err != nil {
				return err
			}
			if output == "json" {
				return writeJSON(cmd.OutOrStdout(), report)
			}
			return report.WriteText(cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&platform, "platform", "", "platform to show, as os/arch (default all)")
	flags.BoolVar(&shallow, "shallow", false, "do not look into the layers")
	flags.StringVarP(&output, "output", "o", "text", "format of the result: text or json")
	insecureFlag(cmd, &insecure)
	complete(cmd, "output", "text", "json")
	return cmd
}
