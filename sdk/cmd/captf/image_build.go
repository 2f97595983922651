package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/format"
	"github.com/captf-toolkit/captf/lint/rules"
	"github.com/captf-toolkit/captf/lint/schema"
	"github.com/captf-toolkit/captf/sdk/module"
)

// buildFlags are the flags of captf image build.
type buildFlags struct {
	role, contract, kind, mirror, output  string
	platforms, runtimes, to, tags, labels []string
	noMirror, noSchema, noLint, strict    bool
	verbose, insecure                     bool
	jobs                                  int
	maxFile                               int64
	options                               build.Options
}

func newImageBuildCommand() *cobra.Command {
	var f buildFlags
	cmd := &cobra.Command{
		Use:   "build --role ROLE --to DESTINATION [flags] DIR",
		Short: "Build the image of a module, without a container daemon",
		Long: `Build the image of a module: an index with an image for each platform, which holds
the module, the runtime, and a mirror of the providers that the module requires.

The runtime is a binary for each platform (--runtime), or that of a base image
(--base). For the platform of this machine it is found on PATH. Providers are
downloaded by the runtime, or taken from a directory (--mirror).

DESTINATION is oci:DIR or oci:DIR:NAME for an OCI layout directory, tarball:FILE for
an archive, or registry/repository:tag; --to may be repeated.

What does not belong into an image is left out: states, .terraform, lock files,
tests, .git, credentials, and what .dockerignore in DIR lists. The same inputs give
the same digest. Times in the image are SOURCE_DATE_EPOCH, or 1970.`,
		Example: `  # For two platforms, into a directory
  captf image build --role machine --runtime ./tofu_amd64 --runtime ./tofu_arm64 --to oci:out:v1.0.0 modules/machine

  # On a base image with git and ssh, straight to a registry
  captf image build --role machine --base registry.example.com/captf-base-tofu:1.12.6 \
    --to registry.example.com/machine:v1.0.0 --tag v1.0 modules/machine`,
		Args: exactly(1, "one module directory"),
		RunE: func(cmd *cobra.Command, args []string) error { return runImageBuild(cmd, f, args[0]) },
	}
	o, flags := &f.options, cmd.Flags()
	flags.StringVar(&f.role, "role", "", "role of the module: "+contract.RoleNames())
	flags.StringVar(&f.contract, "contract", versions.Default().Version(), "contract version: "+strings.Join(versions.Names(), ", "))
	flags.StringArrayVar(&f.to, "to", nil, "where to write the image: oci:DIR[:NAME], tarball:FILE[:NAME] or registry/repository:tag; may be repeated")
	flags.StringSliceVar(&f.tags, "tag", nil, "further tag in the repository of --to; may be repeated")
	flags.StringSliceVar(&f.platforms, "platform", nil, "platform, as os/arch; may be repeated (default linux/amd64 and linux/arm64)")
	flags.StringArrayVar(&f.runtimes, "runtime", nil, "runtime binary, as FILE or PLATFORM=FILE; may be repeated")
	flags.StringVar(&f.kind, "runtime-kind", "", "tofu or terraform, where the binaries do not tell")
	flags.StringVar(&o.RuntimeVersion, "runtime-version", "", "version of the runtime, where the binaries do not tell")
	flags.StringVar(&o.Base, "base", "", "image to build on: registry/repository:tag, oci:DIR or tarball:FILE")
	flags.StringVar(&o.CABundle, "ca-bundle", "", "file with certificates of authorities, for an image without base")
	flags.StringVar(&f.mirror, "mirror", "", "directory with a provider mirror, instead of downloading")
	flags.BoolVar(&f.noMirror, "no-mirror", false, "leave out the mirror: every Job downloads the providers")
	flags.StringVar(&o.CLIConfig, "cli-config", "", "CLI configuration file for downloading providers (default none)")
	flags.StringVar(&o.Capacity, "capacity", "", `what a node has, as JSON such as {"cpu":"4","memory":"16Gi"}`)
	flags.StringVar(&o.NodeInfo, "node-info", "", `what a node is, as JSON such as {"architecture":"amd64","operatingSystem":"linux"}`)
	flags.BoolVar(&f.noSchema, "no-schema", false, "leave out the label with the schema of the user's variables")
	flags.StringVar(&o.About.Title, "title", "", "title of the image")
	flags.StringVar(&o.About.Description, "description", "", "description of the image")
	flags.StringVar(&o.About.Licenses, "licenses", "", "licences, as an SPDX expression")
	flags.StringVar(&o.About.Source, "source", "", "URL of the repository with the module's source")
	flags.StringVar(&o.About.Revision, "revision", "", "commit that the module is from")
	flags.StringVar(&o.About.Version, "image-version", "", "version of the module; it should be the tag")
	flags.StringArrayVar(&f.labels, "label", nil, "another label, as KEY=VALUE; may be repeated")
	flags.IntVar(&o.Level, "compression-level", build.DefaultLevel, "compression of layers, from 1 (fast) to 9 (small)")
	flags.Int64Var(&f.maxFile, "max-file-size", build.DefaultMaxFile>>20, "largest file of the module that may ship, in MiB")
	flags.BoolVar(&f.noLint, "no-lint", false, "do not check the module first")
	flags.BoolVar(&f.strict, "strict", false, "refuse a module that the check warns of")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "list what is left out of the image")
	flags.StringVarP(&f.output, "output", "o", "text", "format of the result: text or json")
	insecureFlag(cmd, &f.insecure)
	jobsFlag(cmd, &f.jobs)
	complete(cmd, "role", strings.Split(contract.RoleNames(), ", ")...)
	complete(cmd, "contract", versions.Names()...)
	complete(cmd, "runtime-kind", string(image.OpenTofu), string(image.Terraform))
	complete(cmd, "output", "text", "json")
	return cmd
}

// order completes the options. Every error is one of usage.
func (f *buildFlags) order(dir string) ([]destination, error) {
	if err := checkOutput(f.output, "text", "json"); err != nil {
		return nil, err
	}
	o := &f.options
	o.Dir, o.Contract, o.Runtime = dir, f.contract, image.Runtime(f.kind)
	if f.role == "" {
		return nil, fmt.Errorf("--role is missing: it is one of %s", contract.RoleNames())
	}
	var err error
	if o.Role, err = contract.ParseRole(f.role); err != nil {
		return nil, err
	}
	if _, err = versions.Get(f.contract); err != nil {
		return nil, err
	}
	if err := checkJobs(f.jobs); err != nil {
		return nil, err
	}
	if f.maxFile < 1 || f.maxFile > 1<<20 {
		return nil, fmt.Errorf("parsing --max-file-size %d: it is a number of MiB", f.maxFile)
	}
	o.MaxFile = f.maxFile << 20
	switch {
	case f.mirror != "" && f.noMirror:
		return nil, errors.New("--mirror and --no-mirror exclude each other")
	case f.mirror != "":
		o.Mirror, o.MirrorDir = build.MirrorDir, f.mirror
	case f.noMirror:
		o.Mirror = build.MirrorNone
	}
	for _, text := range f.platforms {
		p, err := image.ParsePlatform(text)
		if err != nil {
			return nil, err
		}
		o.Platforms = append(o.Platforms, p)
	}
	if len(o.Platforms) == 0 {
		o.Platforms = image.Platforms()
	}
	if o.Labels, err = keyValues("label", f.labels); err != nil {
		return nil, err
	}
	if o.Created, err = build.ParseEpoch(os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return nil, err
	}
	if err := f.findRuntimes(); err != nil {
		return nil, err
	}
	to, err := parseDestinations(f.to, f.tags, f.insecure)
	if err != nil {
		return nil, err
	}
	return to, outside(dir, to)
}

// findRuntimes reads --runtime, and looks on PATH for the machine's own platform.
func (f *buildFlags) findRuntimes() error {
	o := &f.options
	o.Binaries = map[image.Platform]string{}
	for _, text := range f.runtimes {
		left, path, _ := strings.Cut(text, "=")
		p, err := image.ParsePlatform(left)
		if err != nil || path == "" { // it is a file alone, which may have "=" in its name
			path = text
			if p, err = build.PlatformOf(path); err != nil {
				return err
			}
		}
		if other, ok := o.Binaries[p]; ok {
			return fmt.Errorf("parsing --runtime: %s and %s are both for %s", other, path, p)
		}
		o.Binaries[p] = path
	}
	here := image.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	if _, given := o.Binaries[here]; given || o.Base != "" {
		return nil
	}
	for _, kind := range image.Runtimes() {
		if o.Runtime != "" && o.Runtime != kind {
			continue
		}
		path, err := exec.LookPath(string(kind))
		if err != nil {
			continue
		}
		for _, p := range o.Platforms {
			if p == here {
				o.Binaries[p] = path
			}
		}
		return nil
	}
	return nil
}

func runImageBuild(cmd *cobra.Command, f buildFlags, dir string) error {
	to, err := f.order(dir)
	if err != nil {
		return usage(err)
	}
	stderr := cmd.ErrOrStderr()
	tell := func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	f.options.Progress = func(line string) { tell("%s", line) }
	f.options.Open = openOptions(cmd, f.insecure)
	if err := f.readModule(stderr); err != nil {
		return err
	}
	result, err := build.Build(cmd.Context(), f.options)
	if _, wrong := errors.AsType[*build.OptionError](err); wrong {
		return usage(err)
	}
	if err != nil {
		return err
	}
	err = f.finish(cmd, result, to, tell)
	return errors.Join(err, result.Close())
}

// finish writes what was built, and tells about it.
func (f *buildFlags) finish(cmd *cobra.Command, result *build.Result, to []destination, tell func(string, ...any)) error {
	if f.verbose {
		for _, l := range result.LeftOut {
			tell("left out %s (%s)", l.Path, l.Why)
		}
	} else if n := len(result.LeftOut); n > 0 {
		tell("left out %d files and directories; --verbose lists them", n)
	}
	set, err := content.FromIndex(cmd.Context(), result.Index)
	if err != nil {
		return err
	}
	for _, d := range to {
		if v := f.options.About.Version; d.refTag() != "" && v != "" && v != d.refTag() {
			tell("note: the version is %s, but %s is written; users expect them to be the same", v, d)
		}
	}
	if err := writeImage(cmd.Context(), set, to, f.options.Created, publishOptions(cmd, f.insecure, f.jobs), tell); err != nil {
		return err
	}
	return newBuildResult(result, to).print(cmd.OutOrStdout(), f.output)
}

// readModule checks the module, and makes the schema of its variables.
func (f *buildFlags) readModule(stderr io.Writer) error {
	tree, err := module.Load(f.options.Dir, module.Options{})
	if err != nil {
		return err
	}
	definition, err := versions.Get(f.contract)
	if err != nil {
		return err
	}
	if !f.noLint {
		report, err := lint.Check(tree, lint.Options{Dir: f.options.Dir, Role: f.options.Role, Contract: definition, Rules: rules.All()})
		if err != nil {
			return err
		}
		failed := report.Summary().Failed(f.strict)
		if failed || report.Summary().Warning > 0 {
			text, err := format.Find("text")
			if err != nil {
				return err
			}
			shown := format.Result{Modules: []format.Module{{
				Path: f.options.Dir, Name: ".", Role: f.role, Strict: f.strict, Report: report,
			}}, Rules: rules.All(), Version: currentVersion().Version}
			if err := text.Write(stderr, shown, format.Options{Color: colourful(stderr)}); err != nil {
				return err
			}
		}
		if failed {
			return &codeError{code: exitFailed, err: errors.New("checking the module: there are findings; no image was built (--no-lint builds one all the same)")}
		}
	}
	if f.noSchema {
		return nil
	}
	label, err := schema.Of(tree.Primary, definition.Spec(f.options.Role))
	if err != nil {
		return fmt.Errorf("making the schema of %s: %w", f.options.Dir, err)
	}
	if len(label) > image.MaxVariablesSchema {
		return fmt.Errorf("making the schema of %s: it has %d bytes, and the label takes %d: use fewer or simpler variables, or --no-schema",
			f.options.Dir, len(label), image.MaxVariablesSchema)
	}
	f.options.VariablesSchema = string(label)
	return nil
}

// buildResult is what captf image build prints.
type buildResult struct {
	Digest         string            `json:"digest"`
	Runtime        string            `json:"runtime"`
	RuntimeVersion string            `json:"runtimeVersion"`
	Platforms      []buildPlatform   `json:"platforms"`
	Labels         map[string]string `json:"labels"`
	Files          []string          `json:"files"`
	LeftOut        []build.LeftOut   `json:"leftOut"`
	// WrittenTo are references to the image.
	WrittenTo []string `json:"writtenTo"`
}

type buildPlatform struct {
	Platform  string       `json:"platform"`
	Digest    string       `json:"digest"`
	Size      int64        `json:"size"`
	Layers    []buildLayer `json:"layers"`
	Providers []string     `json:"providers"`
}

type buildLayer struct {
	Content string `json:"content"`
	Digest  string `json:"digest"`
	Size    int64  `json:"size"`
}

func newBuildResult(r *build.Result, to []destination) buildResult {
	out := buildResult{
		Digest: r.Digest.String(), Runtime: string(r.Runtime), RuntimeVersion: r.RuntimeVersion, Labels: r.Labels,
		Files: r.Files, LeftOut: append([]build.LeftOut{}, r.LeftOut...),
	}
	for _, p := range r.Platforms {
		built := buildPlatform{Platform: p.Platform.String(), Digest: p.Digest.String(), Size: p.Size, Providers: []string{}}
		for _, l := range p.Layers {
			built.Layers = append(built.Layers, buildLayer{Content: l.Content, Digest: l.Digest.String(), Size: l.Size})
		}
		for _, pkg := range p.Providers {
			built.Providers = append(built.Providers, pkg.Provider+" "+pkg.Version)
		}
		out.Platforms = append(out.Platforms, built)
	}
	for _, d := range to {
		out.WrittenTo = append(out.WrittenTo, d.String())
	}
	return out
}

// print writes the result; the digest of the image is the last line of text.
func (r buildResult) print(w io.Writer, format string) error {
	if format == "json" {
		return writeJSON(w, r)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range r.Platforms {
		fmt.Fprintf(t, "%s\t%s\t%s\n", p.Platform, p.Digest, content.Bytes(p.Size))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, r.Digest)
	return err
}

// writeJSON writes a result for programs.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
