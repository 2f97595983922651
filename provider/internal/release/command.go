package release

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
)

// NewCommand returns the command that makes a release.
func NewCommand() *cobra.Command {
	var o Options
	var platforms []string
	cmd := &cobra.Command{
		Use:   "release --version VERSION --image REPOSITORY --out DIR",
		Short: "Make a release of the provider",
		Long: `Make a release of the provider: the image of the manager and the runner, and the files for clusterctl, which name the
image by its digest. The image is sent to its repository, or with --layout written into DIR. The path of each file and the image
are the result, a line each. Times in the image are SOURCE_DATE_EPOCH, or 1970.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, text := range platforms {
				p, err := image.ParsePlatform(text)
				if err != nil {
					return fmt.Errorf("--platform: %w", err)
				}
				o.Platforms = append(o.Platforms, p)
			}
			if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
				var err error
				if o.Created, err = build.ParseEpoch(epoch); err != nil {
					return err
				}
			}
			o.Progress = func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }
			r, err := Make(cmd.Context(), o)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n", strings.Join(r.Files, "\n"), r.Image)
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Version, "version", "", "version of the release, such as v0.1.0")
	fs.StringVar(&o.Image, "image", "", "repository of the image, such as registry.example.com/captf/manager")
	fs.StringVar(&o.Out, "out", "", "directory for the files")
	fs.StringVar(&o.Commit, "commit", "", "commit that the release is made from")
	fs.StringVar(&o.Digest, "digest", "", "digest of the image, if it is there already: then none is built")
	fs.BoolVar(&o.Layout, "layout", false, "write the image into the directory, as the OCI layout image, instead of sending it")
	fs.BoolVar(&o.Insecure, "insecure", false, "allow a registry that speaks plain HTTP")
	fs.StringSliceVar(&platforms, "platform", nil, "platform, as os/arch; may be repeated (default linux/amd64 and linux/arm64)")
	fs.StringVar(&o.Root, "root", ".", "directory of the repository")
	fs.StringVar(&o.Kubectl, "kubectl", "", "kubectl that builds the manifests (default that on PATH)")
	return cmd
}
