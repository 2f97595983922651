package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/images/attest"
	"github.com/captf-toolkit/captf/images/sign"
	"github.com/captf-toolkit/captf/images/sign/keyless"
)

// verifyFlags are the flags of captf image verify.
type verifyFlags struct {
	key, trustedRoot, output string
	who                      keyless.Identity
	predicates               []string
	statement                bool
	recursive, insecure      bool
}

func newImageVerifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify (--key FILE | --trusted-root FILE --certificate-identity NAME --certificate-oidc-issuer URL) [flags] IMAGE",
		Short: "Verify the signature of an image",
		Long: `Verify that an image is signed: with a key, or by an identity that a certificate
names, whose authorities, logs and timestamps are those of a trusted root file.
Nothing is fetched but what is attached to the image.

Without --recursive the manifest that IMAGE names is verified, which for an index
says all about its platforms: it holds their digests. --predicate asks for signed
statements of other types: sbom, provenance, or a URI; --statement prints them.

` + imageReference + ` tarball:FILE works too.

Exit code 1 means that the image is not signed as asked for.`,
		Example: `  captf image verify --key cosign.pub registry.example.com/machine:v1.0.0
  captf image verify --key cosign.pub --predicate provenance --statement oci:build/machine`,
		Args: exactly(1, "one image"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.key, "key", "", "public key in PEM")
	flags.StringVar(&f.trustedRoot, "trusted-root", "", "trusted root in Sigstore's JSON")
	flags.StringVar(&f.who.Name, "certificate-identity", "", "identity in the certificate")
	flags.StringVar(&f.who.NameRegexp, "certificate-identity-regexp", "", "expression for the whole identity")
	flags.StringVar(&f.who.Issuer, "certificate-oidc-issuer", "", "issuer of the identity")
	flags.StringVar(&f.who.IssuerRegexp, "certificate-oidc-issuer-regexp", "", "expression for the whole issuer")
	flags.StringSliceVar(&f.predicates, "predicate", []string{string(attest.KindSignature)}, "statements that must be signed: signature, sbom, provenance, or a URI")
	flags.BoolVar(&f.statement, "statement", false, "print the verified statements, a JSON document a line")
	flags.BoolVar(&f.recursive, "recursive", false, "verify each platform's image of an index too")
	flags.StringVarP(&f.output, "output", "o", "text", "format of the result: text or json")
	insecureFlag(cmd, &f.insecure)
	complete(cmd, "output", "text", "json")
	complete(cmd, "predicate", "signature", "sbom", "provenance")
	return cmd
}

// verifier verifies the statements of a type.
type verifier func(ctx context.Context, from sign.Referrers, image v1.Hash, predicate string) ([]sign.Verified, error)

func (f verifyFlags) verifier() (verifier, error) {
	identity := f.who != keyless.Identity{} || f.trustedRoot != ""
	switch {
	case f.key != "" && identity:
		return nil, usage(errors.New("--key and the flags of certificates exclude each other"))
	case f.key == "" && !identity:
		return nil, usage(errors.New("--key, or --trusted-root with an identity and an issuer, is needed"))
	case f.key == "" && f.trustedRoot == "":
		return nil, usage(errors.New("--trusted-root is needed: it says whose certificates count"))
	case f.key != "":
		key, err := sign.ReadPublicKey(f.key)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, from sign.Referrers, image v1.Hash, predicate string) ([]sign.Verified, error) {
			return sign.VerifyKey(ctx, from, image, key, predicate)
		}, nil
	}
	if err := f.who.Check(); err != nil {
		return nil, usage(err)
	}
	root, err := keyless.LoadRoot(f.trustedRoot)
	if err != nil {
		return nil, err
	}
	v, err := keyless.New(root, f.who)
	if err != nil {
		return nil, err
	}
	return v.Verify, nil
}

// verifiedResult is a statement that was verified.
type verifiedResult struct {
	Subject   v1.Hash         `json:"subject"`
	Platform  string          `json:"platform,omitempty"`
	Predicate string          `json:"predicateType"`
	Signer    string          `json:"signer"`
	Referrer  v1.Hash         `json:"referrer"`
	Statement *sign.Statement `json:"statement,omitempty"`
}

func (f verifyFlags) run(cmd *cobra.Command, ref string) error {
	if err := checkOutput(f.output, "text", "json"); err != nil {
		return err
	}
	verify, err := f.verifier()
	if err != nil {
		return err
	}
	t, err := openTarget(cmd, ref, f.insecure)
	if err != nil {
		return err
	}
	defer t.src.Close()
	var results []verifiedResult
	for _, name := range f.predicates {
		predicate := attest.ParsePredicate(name)
		for _, s := range attest.Covered(t.src, predicate, f.recursive) {
			found, err := verify(cmd.Context(), t.store, s.Digest, predicate)
			if sign.IsUnsigned(err) {
				return &codeError{code: exitFailed, err: err}
			}
			if err != nil {
				return err
			}
			for _, v := range found {
				r := verifiedResult{Subject: s.Digest, Platform: s.Platform, Predicate: predicate, Signer: v.Signer, Referrer: v.Referrer}
				if f.statement {
					r.Statement = &v.Statement
				}
				results = append(results, r)
			}
		}
	}
	return f.print(cmd.OutOrStdout(), ref, t.src.Digest, results)
}

func (f verifyFlags) print(w io.Writer, ref string, digest v1.Hash, results []verifiedResult) error {
	if f.output == "json" {
		return writeJSON(w, struct {
			Image    string           `json:"image"`
			Digest   v1.Hash          `json:"digest"`
			Verified []verifiedResult `json:"verified"`
		}{ref, digest, results})
	}
	for _, r := range results {
		var err error
		if r.Statement != nil {
			var raw []byte
			if raw, err = r.Statement.Payload(); err == nil {
				_, err = fmt.Fprintf(w, "%s\n", raw)
			}
		} else {
			_, err = fmt.Fprintf(w, "verified  %s  %s  by %s\n", r.Subject, r.Predicate, r.Signer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
