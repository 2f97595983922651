package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	contractimage "github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/source"
	"github.com/captf-toolkit/captf/lint/format"
	"github.com/captf-toolkit/captf/lint/image"
	"github.com/captf-toolkit/captf/lint/rules"
)

// imageFlags are the flags of the image command.
type imageFlags struct {
	report
	platform         string
	verifyKey        string
	allPlatforms     bool
	insecure         bool
	readAll, noCache bool
	cacheDir         string
	verbose          bool
}

func newImage() *cobra.Command {
	var o imageFlags
	cmd := &cobra.Command{
		Use:   "image --role ROLE REF",
		Short: "Check a module image, and the module in it",
		Long: `Checks a module image against the image contract, and the module in it against the
module contract. The image is read, never run: only the layers and the parts of
layers that are needed.

REF is one of
  REGISTRY/REPOSITORY:TAG, REGISTRY/REPOSITORY@sha256:..., or both
  oci:DIR[:NAME]       an OCI layout, such as captf image build makes
  tarball:FILE[:NAME]  an archive of an OCI layout, or of docker save

Credentials are those of docker login or podman login.`,
		Example: `  tfcapi-lint image --role machine --strict --all-platforms oci:./image
  tfcapi-lint image --role cluster registry.example/cluster:v1.2.0 --platform linux/arm64
  tfcapi-lint image --role machine registry.example/machine:v1.2.0 --output sarif > image.sarif`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 || len(args) == 1 && args[0] == "":
				return usage(errors.New("the image to check is missing"))
			case len(args) > 1:
				return usage(fmt.Errorf("one image is expected, not %d: %s", len(args), strings.Join(args, " ")))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return o.run(ctx, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.report.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.platform, "platform", "", "platform to check, as `os/arch` (default: of an index "+contractimage.DefaultPlatform().String()+", of a single image its own)")
	f.BoolVar(&o.allPlatforms, "all-platforms", false, "check every platform of the index")
	f.StringVar(&o.verifyKey, "verify-key", "", "check that the image is signed with the public key in this PEM `file`")
	f.BoolVar(&o.insecure, "insecure", false, "allow a registry that speaks plain HTTP")
	f.BoolVar(&o.readAll, "read-all-layers", false, "read every layer whole, whatever its table of contents says, and compare the two")
	f.StringVar(&o.cacheDir, "cache-dir", "", "keep what is learned of layers in this `directory` (default: in the user's cache)")
	f.BoolVar(&o.noCache, "no-cache", false, "neither read nor write the cache of layers")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "tell what is read")
	cmd.MarkFlagsMutuallyExclusive("cache-dir", "no-cache")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	must(cmd.RegisterFlagCompletionFunc("platform", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, p := range contractimage.Platforms() {
			names = append(names, p.String())
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}))
	return cmd
}

func (o *imageFlags) run(ctx context.Context, ref string, stdout, stderr io.Writer) error {
	out, err := o.pickFormat()
	if err != nil {
		return err
	}
	opts, err := o.options(stderr)
	if err != nil {
		return err
	}
	start := time.Now()
	report, err := image.Run(ctx, ref, opts)
	if err != nil {
		if errors.Is(err, source.ErrReference) {
			return usage(err)
		}
		return unreadable(err)
	}
	if o.verbose {
		fmt.Fprintf(stderr, "tfcapi-lint: read %d bytes of layers in %d requests; %d layers streamed, %d by their table of contents, %d from the cache (%s)\n",
			report.Stats.LayerBytes, report.Stats.Requests, report.Read.Streamed, report.Read.TOCs, report.Read.Cached, time.Since(start).Round(time.Millisecond))
	}
	result := o.result(report)
	printProblems(stderr, result)
	if err := out.Write(stdout, result, format.Options{Color: colourful(stdout)}); err != nil {
		return unreadable(fmt.Errorf("writing the report: %w", err))
	}
	return exit(exitCode(result))
}

// options checks the command line.
func (o *imageFlags) options(stderr io.Writer) (image.Options, error) {
	opts := image.Options{
		Rules: rules.All(), All: o.allPlatforms,
		Source: source.Options{Insecure: o.insecure, UserAgent: "tfcapi-lint/" + currentVersion().Version},
		Read:   rootfs.Options{IgnoreTOC: o.readAll, CacheDir: o.cache()},
	}
	var err error
	if opts.Contract, err = o.parseContract(); err != nil {
		return opts, err
	}
	if opts.Role, err = o.parseRole(); err != nil {
		return opts, err
	}
	var notes []string
	if opts.Allow, notes, err = o.allowances(); err != nil {
		return opts, err
	}
	for _, note := range notes {
		fmt.Fprintf(stderr, "tfcapi-lint: %s\n", note)
	}
	if o.verbose {
		opts.Source.Progress = func(line string) { fmt.Fprintf(stderr, "tfcapi-lint: %s\n", line) }
	}
	if o.verifyKey != "" {
		if opts.Verify, err = verifier(o.verifyKey, opts.Source); err != nil {
			return opts, unreadable(err)
		}
	}
	if o.platform == "" {
		return opts, nil
	}
	if o.allPlatforms {
		return opts, usage(errors.New("--platform and --all-platforms exclude each other"))
	}
	platform, err := contractimage.ParsePlatform(o.platform)
	if err != nil {
		return opts, usage(fmt.Errorf("--platform: %w", err))
	}
	opts.Platform = &platform
	return opts, nil
}

// cache is where what is learned of layers is kept; empty is nowhere.
func (o *imageFlags) cache() string {
	if o.noCache || o.cacheDir != "" {
		return o.cacheDir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "" // a machine without one does without
	}
	return filepath.Join(dir, "captf", "layers")
}

// result is the report as the formats want it.
func (o *imageFlags) result(r *image.Report) format.Result {
	out := format.Result{
		Rules: known(), Version: currentVersion().Version,
		Image: &format.Image{Reference: r.Reference, Digest: r.Digest},
	}
	for _, p := range r.Images {
		out.Image.Platforms = append(out.Image.Platforms, p.Name)
		m := format.Module{Path: r.Reference, Name: p.Name, Role: o.role, Strict: o.strict, Report: p.Report, Err: p.Err}
		for _, problem := range problemsOf(p.Err) {
			if problem.File != "" {
				problem.File = contractimage.ModulePath + "/" + problem.File
			}
			m.Problems = append(m.Problems, problem)
		}
		if m.Report != nil && o.allPlatforms {
			for i := range m.Report.Findings {
				m.Report.Findings[i].Platform = p.Name
			}
		}
		out.Modules = append(out.Modules, m)
	}
	return out
}
