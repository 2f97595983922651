package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/smoke"
	"github.com/captf-toolkit/captf/images/source"
)

// smokeFlags are the flags of captf image test.
type smokeFlags struct {
	role, contract, isolation, output string
	variables                         []string
	timeout                           time.Duration
	insecure                          bool
}

// newImageSmokeCommand is captf image test; Go keeps files named so for tests.
func newImageSmokeCommand() *cobra.Command {
	var f smokeFlags
	cmd := &cobra.Command{
		Use:   "test [flags] IMAGE",
		Short: "Try an image out: run its runtime on its module, offline",
		Long: `Unpack the image for this machine's platform and run its runtime on its module, with
the environment of a Job and without a network: version, init, validate. A module
that requires no provider is applied and destroyed as well. Layers are read whole
and compared with what the image says of them.

On Linux the image is the root of the run, read-only but for the work directory and
/tmp, and nothing of this machine can be reached. What the machine does not allow to
isolate is said; with --isolation strict it is an error. What an image holds is
checked by "tfcapi-lint image".

` + imageReference + `

Exit code 1 means that a step failed, or that a layer is damaged.`,
		Example: `  captf image test oci:out:v1.0.0
  captf image test --var region=eu-west-1 registry.example.com/machine:v1.0.0`,
		Args: exactly(1, "one image"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.role, "role", "", "role of the module (default what the label "+string(image.LabelRole)+" says)")
	flags.StringVar(&f.contract, "contract", versions.Default().Version(), "contract version: "+strings.Join(versions.Names(), ", "))
	flags.StringArrayVar(&f.variables, "var", nil, "user variable for the apply, as NAME=VALUE; a VALUE that is JSON is read as such; may be repeated")
	flags.StringVar(&f.isolation, "isolation", string(smoke.IsolateAuto), "auto, strict, or never")
	flags.DurationVar(&f.timeout, "step-timeout", 5*time.Minute, "how long a step may take")
	flags.StringVarP(&f.output, "output", "o", "text", "format of the result: text or json")
	insecureFlag(cmd, &f.insecure)
	complete(cmd, "role", strings.Split(contract.RoleNames(), ", ")...)
	complete(cmd, "contract", versions.Names()...)
	complete(cmd, "isolation", string(smoke.IsolateAuto), string(smoke.IsolateStrictly), string(smoke.IsolateNever))
	complete(cmd, "output", "text", "json")
	return cmd
}

func (f smokeFlags) options() (smoke.Options, error) {
	o := smoke.Options{Isolation: smoke.Isolation(f.isolation), Timeout: f.timeout}
	var err error
	if o.Contract, err = versions.Get(f.contract); err != nil {
		return o, err
	}
	if f.role != "" {
		if o.Role, err = contract.ParseRole(f.role); err != nil {
			return o, err
		}
	}
	if !slices.Contains(smoke.Isolations(), o.Isolation) {
		return o, fmt.Errorf("parsing --isolation %q: it is auto, strict or never", f.isolation)
	}
	if f.timeout <= 0 {
		return o, fmt.Errorf("parsing --step-timeout %s: it has to be longer than nothing", f.timeout)
	}
	values, err := keyValues("var", f.variables)
	if err != nil {
		return o, err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := json.RawMessage(values[name])
		if !json.Valid(value) {
			if value, err = json.Marshal(values[name]); err != nil {
				return o, fmt.Errorf("parsing --var %s: %w", name, err)
			}
		}
		o.Variables = append(o.Variables, contract.Variable{Name: name, Value: value})
	}
	return o, nil
}

func (f smokeFlags) run(cmd *cobra.Command, ref string) (err error) {
	if err := checkOutput(f.output, "text", "json"); err != nil {
		return err
	}
	o, err := f.options()
	if err != nil {
		return usage(err)
	}
	src, err := openImage(cmd, ref, f.insecure)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	here := smoke.Host()
	img, err := src.Image(cmd.Context(), &v1.Platform{OS: here.OS, Architecture: here.Arch})
	if err != nil {
		return err
	}
	if o.Role == "" {
		if o.Role, err = labelledRole(img); err != nil {
			return err
		}
	}
	files, err := rootfs.Open(cmd.Context(), img, rootfs.Options{IgnoreTOC: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	o.Progress = func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }
	report, err := smoke.Run(cmd.Context(), files, o)
	if err != nil {
		return err
	}
	if f.output == "json" {
		err = writeJSON(cmd.OutOrStdout(), report)
	} else {
		err = writeSmoke(cmd.OutOrStdout(), img, report)
	}
	if err == nil && !report.Passed {
		return exit(exitFailed)
	}
	return err
}

func labelledRole(img *source.Image) (contract.Role, error) {
	label, ok := img.Labels()[string(image.LabelRole)]
	if !ok {
		return "", usage(fmt.Errorf("--role is needed: the image has no label %s", image.LabelRole))
	}
	role, err := contract.ParseRole(label)
	if err != nil {
		return "", usage(fmt.Errorf("--role is needed: the label %s is wrong: %w", image.LabelRole, err))
	}
	return role, nil
}

func writeSmoke(w io.Writer, img *source.Image, r *smoke.Report) error {
	var b strings.Builder
	for _, d := range r.Damaged {
		fmt.Fprintf(&b, "damaged: %s\n", d)
	}
	for _, s := range r.Steps {
		if s.Error != "" {
			fmt.Fprintf(&b, "%s failed: %s\n", strings.Join(s.Args, " "), s.Error)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, n := range r.NotIsolated {
		fmt.Fprintf(&b, "not isolated: %s\n", n)
	}
	verdict := "passed"
	if !r.Passed {
		verdict = "failed"
	}
	parts := []string{fmt.Sprintf("%d steps", len(r.Steps)), img.Digest.String()}
	if what := strings.TrimSpace(r.Runtime + " " + r.Version); what != "" {
		parts = slices.Insert(parts, 0, what)
	}
	fmt.Fprintf(&b, "%s: %s\n", verdict, strings.Join(parts, ", "))
	_, err := io.WriteString(w, b.String())
	return err
}
