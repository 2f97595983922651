// Command docgen writes the JSON Schema and the reference page of scenarios.
// Run it with `go generate ./sdk/harness/...`.
//
// Not in this command: what it writes (sdk/harness/scenario).
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/captf-toolkit/captf/sdk/harness/kcp"
	"github.com/captf-toolkit/captf/sdk/harness/rke2"
	"github.com/captf-toolkit/captf/sdk/harness/scenario"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

func run(args []string, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "docgen: expected the directory to write to as the one argument")
		return 3
	}
	if err := write(args[0]); err != nil {
		fmt.Fprintln(stderr, "docgen:", err)
		return 2
	}
	return 0
}

func write(dir string) error {
	schema, err := scenario.Schema()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"harness-scenario.schema.json": schema, "scenarios.md": scenario.Page(kcp.New(), rke2.New()),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil { //nolint:gosec // pages for everyone to read
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}
