package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/smoke"
	"github.com/captf-toolkit/captf/images/source"
	"github.com/captf-toolkit/captf/images/unpack"
)

// unpacked says where the parts of an image are, with its links followed; "" is a part that it does not have.
type unpacked struct {
	Image     string `json:"image"`
	Platform  string `json:"platform"`
	Module    string `json:"module"`
	Runtime   string `json:"runtime"`
	Providers string `json:"providers"`
}

func newImageUnpackCommand() *cobra.Command {
	var platform, output string
	var insecure bool
	cmd := &cobra.Command{
		Use:   "unpack [flags] IMAGE DIR",
		Short: "Write the files of an image to a directory, to look at its module or to run it here",
		Long: `Write the files of an image to DIR, which must not exist or be empty, and say where its
module, runtime and providers are. Layers are read whole and compared with what the
image says of them; a damaged one leaves no DIR. Nothing of the image is run, files
belong to you, and devices are left out.

` + imageReference,
		Example: `  captf image unpack registry.example.com/machine:v1.0.0 machine
  runner run --local --op=plan --config=inputs --module=machine/captf/module \
    --providers=machine/captf/providers --bin=machine/usr/local/bin/tofu`,
		Args: exactly(2, "one image and one directory"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			p := smoke.Host()
			if platform != "" {
				if p, err = image.ParsePlatform(platform); err != nil {
					return usage(err)
				}
			}
			src, err := openImage(cmd, args[0], insecure)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, src.Close()) }()
			img, err := src.Image(cmd.Context(), &v1.Platform{OS: p.OS, Architecture: p.Arch})
			if err != nil {
				return err
			}
			u := unpacked{Image: img.Digest.String(), Platform: p.String()}
			if err := u.unpack(cmd, img, args[1]); err != nil {
				return err
			}
			if output == "json" {
				return writeJSON(cmd.OutOrStdout(), u)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "module:    %s\nruntime:   %s\nproviders: %s\n", u.Module, u.Runtime, u.Providers)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&platform, "platform", "", "platform to unpack, as os/arch (default this machine's)")
	flags.StringVarP(&output, "output", "o", "text", "format of the result: text or json")
	insecureFlag(cmd, &insecure)
	complete(cmd, "output", "text", "json")
	return cmd
}

// unpack writes an image's files beside dir and puts them in its place when they are whole.
func (u *unpacked) unpack(cmd *cobra.Command, img *source.Image, dir string) (err error) {
	if err := checkVacant(dir); err != nil {
		return usage(err)
	}
	files, err := rootfs.Open(cmd.Context(), img, rootfs.Options{IgnoreTOC: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	for _, p := range files.Problems() {
		if p.Kind == rootfs.ProblemDiffID {
			fmt.Fprintf(cmd.ErrOrStderr(), "damaged: %s\n", p.Message)
			return exit(exitFailed)
		}
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o750); err != nil {
		return fmt.Errorf("making the directory of %s: %w", dir, err)
	}
	tmp, err := os.MkdirTemp(parent, ".unpacking-")
	if err != nil {
		return fmt.Errorf("making a directory to unpack the image: %w", err)
	}
	defer func() { err = errors.Join(err, unpack.Remove(tmp)) }()
	if _, err := unpack.Into(cmd.Context(), files, tmp, unpack.Options{}); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("putting the image's files into %s: %w", dir, err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fmt.Errorf("putting the image's files into %s: %w", dir, err)
	}
	for part, path := range map[*string]string{&u.Module: image.ModulePath, &u.Runtime: image.RuntimePath, &u.Providers: image.ProvidersPath} {
		// A link of the image leads to a place in the image, which is none of this machine.
		if e, err := files.Stat(path); err == nil {
			*part = filepath.Join(dir, unpack.Local(e.Path))
		}
	}
	return nil
}

// checkVacant refuses a directory in which there is something.
func checkVacant(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("unpacking into %s: it is no directory", dir)
	case err != nil:
		return fmt.Errorf("unpacking into %s: %w", dir, err)
	case len(entries) > 0:
		return fmt.Errorf("unpacking into %s: it is not empty; name a directory that does not exist", dir)
	}
	return nil
}
