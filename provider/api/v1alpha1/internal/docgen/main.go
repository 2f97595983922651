// Command docgen writes the reference page of the API from the CustomResourceDefinitions, which controller-gen makes of the
// Go types. Run it with `go generate ./provider/api/v1alpha1`.
//
// Not in this command: what a field means (provider/api/v1alpha1).
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run reads the definitions of the folder that is the first argument, writes the page that is the second, and returns the
// exit code.
func run(args []string, stderr io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintln(stderr, "docgen: expected the folder of the definitions and the page as arguments")
		return 2
	}
	definitions, err := read(args[0])
	if err == nil {
		var content []byte
		if content, err = page(definitions); err == nil {
			err = os.WriteFile(args[1], content, 0o644) //nolint:gosec // a page for everyone to read
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "docgen:", err)
		return 1
	}
	return 0
}

// read returns the definitions by kind.
func read(dir string) (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("listing definitions: %w", err)
	}
	out := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a definition: %w", err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(raw, &definition); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		out[definition.Spec.Names.Kind] = &definition
	}
	return out, nil
}
