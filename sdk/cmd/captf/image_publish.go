package main

import (
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/images/publish"
	"github.com/captf-toolkit/captf/images/source"
)

// publishResult is what captf image publish prints.
type publishResult struct {
	Digest string   `json:"digest"`
	Tags   []string `json:"tags"`
	// Sent, Mounted and Existing count blobs.
	Sent      int   `json:"sent"`
	SentBytes int64 `json:"sentBytes"`
	Mounted   int   `json:"mounted"`
	Existing  int   `json:"existing"`
	Attached  int   `json:"attached"`
}

func newImagePublishCommand() *cobra.Command {
	var insecure, bare bool
	var jobs int
	var output string
	cmd := &cobra.Command{
		Use:   "publish [flags] IMAGE TAG...",
		Short: "Send an image to a registry",
		Long: `Send an image, with all its platforms and what is attached to it (bills of materials,
signatures), to one or more tags.

What the registry has is not sent again. A tag is written when everything else is
there, and read back. The digest is the last line of the output.

IMAGE is oci:DIR, oci:DIR:NAME, tarball:FILE, or an image in a registry. TAG is
registry/repository:tag. Credentials are those of docker login and podman login.`,
		Example: `  captf image publish oci:out:v1.0.0 registry.example.com/machine:v1.0.0 registry.example.com/machine:v1.0`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(fmt.Errorf("an image and at least one tag are needed, but there are %d arguments", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			if err := checkJobs(jobs); err != nil {
				return usage(err)
			}
			tags, err := parseTags(args[1:], insecure)
			if err != nil {
				return usage(err)
			}
			src, err := openImage(cmd, args[0], insecure)
			if err != nil {
				return err
			}
			defer src.Close()
			o := publishOptions(cmd, insecure, jobs)
			set, err := publish.Collect(cmd.Context(), src, bare, o)
			if err != nil {
				return err
			}
			report, err := publish.Publish(cmd.Context(), set, tags, o)
			if err != nil {
				return err
			}
			if output == "text" {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), report.Digest)
				return err
			}
			result := publishResult{
				Digest: report.Digest.String(), Sent: report.Sent, SentBytes: report.SentBytes,
				Mounted: report.Mounted, Existing: report.Existing, Attached: report.Attached,
			}
			for _, t := range report.Tags {
				result.Tags = append(result.Tags, t.Name())
			}
			return writeJSON(cmd.OutOrStdout(), result)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&bare, "no-referrers", false, "leave behind what is attached to the image")
	flags.StringVarP(&output, "output", "o", "text", "format of the result: text or json")
	insecureFlag(cmd, &insecure)
	jobsFlag(cmd, &jobs)
	complete(cmd, "output", "text", "json")
	return cmd
}

// openImage opens an image. A reference that cannot be understood, or that is of
// several images, is an error of usage.
func openImage(cmd *cobra.Command, ref string, insecure bool) (*source.Source, error) {
	src, err := source.Open(cmd.Context(), ref, openOptions(cmd, insecure))
	if errors.Is(err, source.ErrReference) {
		return nil, usage(err)
	}
	return src, err
}

func parseTags(texts []string, insecure bool) ([]name.Tag, error) {
	var out []name.Tag
	for _, text := range texts {
		t, err := publish.ParseTag(text, insecure)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}
