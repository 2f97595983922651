package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/internal/jsonschema"
	"github.com/captf-toolkit/captf/contract/internal/reference"
	"github.com/captf-toolkit/captf/contract/schemas"
	"github.com/captf-toolkit/captf/contract/versions"
)

// run generates the files below the contract folder dir and returns the exit code.
func run(dir string, stderr io.Writer) int {
	generated, err := files()
	if err == nil {
		err = write(dir, generated)
	}
	if err != nil {
		fmt.Fprintln(stderr, "generate:", err)
		return 1
	}
	return 0
}

// files returns what is generated, by path relative to the contract folder.
func files() (map[string][]byte, error) {
	out := map[string][]byte{}
	builders := map[string]func(contract.Definition, contract.Role) ([]byte, error){
		"inputs":  jsonschema.Inputs,
		"outputs": jsonschema.Outputs,
	}
	for _, d := range versions.All() {
		for _, role := range contract.Roles() {
			for side, build := range builders {
				name := filepath.Join("schemas", schemas.Name(d.Version(), role, side))
				b, err := build(d, role)
				if err != nil {
					return nil, fmt.Errorf("generating %s: %w", name, err)
				}
				out[name] = b
			}
		}
	}
	page, err := reference.Page(versions.Default())
	if err != nil {
		return nil, fmt.Errorf("generating the reference page: %w", err)
	}
	out[filepath.Join("..", "docs", "reference", "contract.md")] = page
	if page, err = reference.ImagePage(); err != nil {
		return nil, fmt.Errorf("generating the reference page of images: %w", err)
	}
	out[filepath.Join("..", "docs", "reference", "image.md")] = page
	return out, nil
}

// write writes the files below dir.
func write(dir string, files map[string][]byte) error {
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("creating the folder of %s: %w", path, err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}
