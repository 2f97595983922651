package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/images/publish"
	"github.com/captf-toolkit/captf/images/source"
)

// labelResult is what captf image label prints.
type labelResult struct {
	Old       string          `json:"old"`
	Digest    string          `json:"digest"`
	Platforms []labelPlatform `json:"platforms"`
	Tags      []string        `json:"tags"`
	Warnings  []string        `json:"warnings"`
}

type labelPlatform struct {
	Platform string `json:"platform"`
	Old      string `json:"old"`
	Digest   string `json:"digest"`
}

func newImageLabelCommand() *cobra.Command {
	var set, annotations, tagTexts []string
	var changes publish.Changes
	var insecure bool
	var output string
	cmd := &cobra.Command{
		Use:   "label [flags] IMAGE",
		Short: "Change labels of an image, on every platform",
		Long: `Change labels and annotations of an image on every platform, where it is: in a
registry, or in an OCI layout directory. Layers are neither read nor sent.

The image gets a new digest, and the tag points at it. Signatures and attestations
belong to the old digest. Labels that begin with org.opencontainers.image. are
annotations of the manifests and the index as well.`,
		Example: `  captf image label --set 'io.captf.capacity={"cpu":"4","memory":"16Gi"}' registry.example.com/machine:v1.0.0
  captf image label --remove org.opencontainers.image.licenses oci:out:v1.0.0`,
		Args: exactly(1, "one image"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			var err error
			if changes.Labels, err = keyValues("set", set); err != nil {
				return usage(err)
			}
			if changes.Annotations, err = keyValues("annotation", annotations); err != nil {
				return usage(err)
			}
			tags, err := parseTags(tagTexts, insecure)
			if err != nil {
				return usage(err)
			}
			result, err := publish.Relabel(cmd.Context(), args[0], tags, changes, publishOptions(cmd, insecure, publish.DefaultJobs))
			if errors.Is(err, publish.ErrChanges) || errors.Is(err, source.ErrReference) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			for _, w := range result.Warnings {
				fmt.Fprintf(cmd.ErrOrStderr(), "Warning: %s\n", w)
			}
			if output == "text" {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), result.New)
				return err
			}
			return writeJSON(cmd.OutOrStdout(), newLabelResult(result))
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&set, "set", nil, "label to set, as KEY=VALUE; may be repeated")
	flags.StringSliceVar(&changes.RemoveLabels, "remove", nil, "label to remove; may be repeated")
	flags.StringArrayVar(&annotations, "annotation", nil, "annotation to set, as KEY=VALUE; may be repeated")
	flags.StringSliceVar(&changes.RemoveAnnotations, "remove-annotation", nil, "annotation to remove; may be repeated")
	flags.StringSliceVar(&tagTexts, "tag", nil, "tag to write, as registry/repository:tag, instead of that of IMAGE; may be repeated")
	flags.StringVarP(&output, "output", "o", "text", "format of the result: text or json")
	insecureFlag(cmd, &insecure)
	complete(cmd, "output", "text", "json")
	return cmd
}

func newLabelResult(r *publish.Relabelled) labelResult {
	out := labelResult{Old: r.Old.String(), Digest: r.New.String(), Tags: []string{}, Warnings: append([]string{}, r.Warnings...)}
	for _, p := range r.Platforms {
		out.Platforms = append(out.Platforms, labelPlatform{Platform: p.Platform, Old: p.Old.String(), Digest: p.New.String()})
	}
	for _, t := range r.Tags {
		out.Tags = append(out.Tags, t.Name())
	}
	return out
}
