package containerfile

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
)

//go:embed *.tmpl
var templates embed.FS

// Kind is what a Containerfile builds.
type Kind string

// The kinds of images.
const (
	// Base is an image with a runtime and no module (image.md 7.1).
	Base Kind = "base"
	// Module is an image with a role module on top of a base image (image.md 7).
	Module Kind = "module"
)

// Kinds returns both kinds.
func Kinds() []Kind { return []Kind{Base, Module} }

// Path returns where the file lies below the images folder, such as
// base/tofu/Containerfile.
func Path(k Kind, r image.Runtime) string { return fmt.Sprintf("%s/%s/Containerfile", k, r) }

// data is what the templates see.
type data struct {
	Runtime      image.Runtime
	Name         string
	RuntimePath  string
	Providers    string
	Module       string
	WorkingDir   string
	Home         string
	User         string
	UserID       int
	UserName     string
	Labels       map[string]image.Key
	Roles        []contract.Role
	Binary, File string
}

// Render returns the Containerfile of a kind for a runtime.
func Render(k Kind, r image.Runtime) ([]byte, error) {
	t, err := template.New(string(k)+".tmpl").ParseFS(templates, string(k)+".tmpl")
	if err != nil {
		return nil, fmt.Errorf("reading the template of %s images: %w", k, err)
	}
	name := map[image.Runtime]string{image.OpenTofu: "OpenTofu", image.Terraform: "Terraform"}[r]
	var b bytes.Buffer
	err = t.Execute(&b, data{
		Runtime: r, Name: name, Binary: image.BinaryPath(r), File: Path(k, r),
		RuntimePath: image.RuntimePath, Providers: image.ProvidersPath, Module: image.ModulePath,
		WorkingDir: image.WorkingDir, Home: image.Home, User: image.User, UserID: image.UserID, UserName: image.UserName,
		Labels: map[string]image.Key{
			"contract": image.LabelContract, "role": image.LabelRole,
			"runtime": image.LabelRuntime, "version": image.LabelRuntimeVersion,
			"schema": image.LabelVariablesSchema,
		},
		Roles: contract.Roles(),
	})
	if err != nil {
		return nil, fmt.Errorf("rendering the Containerfile of %s images for %s: %w", k, r, err)
	}
	return []byte(strings.TrimLeft(b.String(), "\n")), nil
}
