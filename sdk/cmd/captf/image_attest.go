package main

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/images/attest"
	"github.com/captf-toolkit/captf/images/sign/keyfile"
)

func newImageAttestCommand() *cobra.Command {
	var f attachFlags
	o := attest.Options{SBOM: true, Provenance: true}
	cmd := &cobra.Command{
		Use:   "attest [flags] IMAGE",
		Short: "Attach bill of materials and provenance to an image",
		Long: `Attach bill of materials and provenance to an image, as OCI referrers.

Each platform gets a bill of materials (SPDX 2.3) and a provenance (SLSA 1.0), an
index a provenance. With --key they are signed; see "captf image verify
--predicate". Attaching again what is there changes nothing.

` + imageReference + `

The password of an encrypted key is read from the environment variable ` + keyfile.PasswordVariable + `,
or asked for on a terminal.`,
		Example: `  captf image attest --builder-id https://ci.example.com/release registry.example.com/machine:v1.0.0
  captf image attest --key cosign.key oci:build/machine`,
		Args: exactly(1, "one image"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.SBOM && !o.Provenance {
				return usage(errors.New("nothing is left to attach: leave out --sbom=false or --provenance=false"))
			}
			for flag, uri := range map[string]string{"builder-id": o.Builder.ID, "invocation": o.Builder.Invocation} {
				if u, err := url.Parse(uri); uri != "" && (err != nil || u.Scheme == "") {
					return usage(fmt.Errorf("parsing --%s %q: it is a URI, such as https://ci.example.com/release", flag, uri))
				}
			}
			o.Tool, o.Builder.Version = toolName(), currentVersion().Version
			if f.key != "" {
				var err error
				if o.Signer, err = keyfile.Load(f.key, password(cmd)); err != nil {
					return err
				}
			}
			return f.run(cmd, args[0], func(t target) ([]attest.Attached, error) {
				return attest.Attach(cmd.Context(), t.src, t.store, o)
			})
		},
	}
	f.define(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.key, "key", "", "private key in PEM to sign with (default: do not sign)")
	flags.BoolVar(&o.SBOM, "sbom", true, "attach bills of materials")
	flags.BoolVar(&o.Provenance, "provenance", true, "attach provenances")
	flags.StringVar(&o.Builder.ID, "builder-id", "", "URI of who built the image (default: one that says it was built by hand)")
	flags.StringVar(&o.Builder.Invocation, "invocation", "", "URI of the run that built the image")
	return cmd
}
