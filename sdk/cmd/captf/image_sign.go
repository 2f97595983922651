package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/captf-toolkit/captf/images/attest"
	"github.com/captf-toolkit/captf/images/referrer"
	"github.com/captf-toolkit/captf/images/regular"
	"github.com/captf-toolkit/captf/images/sign"
	"github.com/captf-toolkit/captf/images/sign/keyfile"
	"github.com/captf-toolkit/captf/images/source"
)

func newImageSignCommand() *cobra.Command {
	var f attachFlags
	var bundle string
	var recursive bool
	cmd := &cobra.Command{
		Use:   "sign (--key FILE | --bundle FILE) [flags] IMAGE",
		Short: "Sign an image",
		Long: `Sign an image with a key, and attach the signature to it as an OCI referrer.

The signature is a Sigstore bundle as cosign 3 makes it: each of the two verifies
what the other has signed. It is not written to a transparency log. An index is
signed together with each platform's image, so that whoever refers to one of them
finds a signature. Signing again changes nothing.

With --bundle a bundle that was made elsewhere is attached, such as one with a
certificate instead of a key. It must be about the image; it is not verified.

` + imageReference + `

The password of an encrypted key is read from the environment variable ` + keyfile.PasswordVariable + `,
or asked for on a terminal.`,
		Example: `  captf image sign --key cosign.key registry.example.com/machine:v1.0.0
  captf image sign --bundle machine.sigstore.json registry.example.com/machine:v1.0.0`,
		Args: exactly(1, "one image"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.key == "" && bundle == "":
				return usage(errors.New("one of --key and --bundle is needed"))
			case f.key != "" && bundle != "":
				return usage(errors.New("--key and --bundle exclude each other"))
			case bundle != "":
				b, err := readBundle(bundle)
				if err != nil {
					return err
				}
				return f.run(cmd, args[0], func(t target) ([]attest.Attached, error) {
					return attest.AttachBundle(cmd.Context(), t.src, t.store, b)
				})
			}
			signer, err := keyfile.Load(f.key, password(cmd))
			if err != nil {
				return err
			}
			return f.run(cmd, args[0], func(t target) ([]attest.Attached, error) {
				return attest.Sign(cmd.Context(), t.src, t.store, signer, recursive)
			})
		},
	}
	f.define(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.key, "key", "", "private key in PEM: ECDSA, Ed25519 or RSA, or one of cosign generate-key-pair")
	flags.StringVar(&bundle, "bundle", "", "attach the Sigstore bundle in this file")
	flags.BoolVar(&recursive, "recursive", true, "sign each platform's image of an index too")
	return cmd
}

func readBundle(path string) (*sign.Bundle, error) {
	raw, err := regular.Read(path, sign.MaxBundle)
	if err != nil {
		return nil, fmt.Errorf("reading bundle: %w", err)
	}
	b, err := sign.ParseBundle(raw)
	if err != nil {
		return nil, fmt.Errorf("reading bundle %s: %w", path, err)
	}
	return b, nil
}

// password returns what asks for the password of a key.
func password(cmd *cobra.Command) keyfile.Password {
	return func() ([]byte, error) {
		if value, ok := os.LookupEnv(keyfile.PasswordVariable); ok {
			return []byte(value), nil
		}
		stdin, ok := cmd.InOrStdin().(*os.File)
		if !ok || !term.IsTerminal(int(stdin.Fd())) {
			return nil, fmt.Errorf("the key is encrypted: set %s, or run the command on a terminal", keyfile.PasswordVariable)
		}
		fmt.Fprint(cmd.ErrOrStderr(), "Password of the private key: ")
		value, err := term.ReadPassword(int(stdin.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
		if err != nil {
			return nil, fmt.Errorf("reading the password: %w", err)
		}
		return value, nil
	}
}

// attachFlags are the flags of commands that attach something.
type attachFlags struct {
	key, output string
	insecure    bool
}

func (f *attachFlags) define(cmd *cobra.Command) {
	insecureFlag(cmd, &f.insecure)
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "format of the list of what is attached: text or json")
	complete(cmd, "output", "text", "json")
}

// target is an image and what is attached to it.
type target struct {
	src   *source.Source
	store referrer.Store
}

func openTarget(cmd *cobra.Command, ref string, insecure bool) (target, error) {
	src, err := openImage(cmd, ref, insecure)
	if err != nil {
		return target{}, err
	}
	store, err := referrer.Of(src, openOptions(cmd, insecure))
	if err != nil {
		return target{}, errors.Join(err, src.Close())
	}
	return target{src, store}, nil
}

// run attaches, and prints what is attached.
func (f *attachFlags) run(cmd *cobra.Command, ref string, attach func(target) ([]attest.Attached, error)) error {
	if err := checkOutput(f.output, "text", "json"); err != nil {
		return err
	}
	t, err := openTarget(cmd, ref, f.insecure)
	if err != nil {
		return err
	}
	defer t.src.Close()
	list, err := attach(t)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return writeJSON(cmd.OutOrStdout(), struct {
			Image    string            `json:"image"`
			Digest   string            `json:"digest"`
			Attached []attest.Attached `json:"attached"`
		}{ref, t.src.Digest.String(), list})
	}
	for _, a := range list {
		what := "unsigned"
		if a.Signed {
			what = "signed"
		}
		on := a.Platform
		if on == "" {
			on = "index"
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%-10s  %-8s  %-12s  %s  on %s\n", a.Kind, what, on, a.Referrer, a.Subject); err != nil {
			return err
		}
	}
	return nil
}
