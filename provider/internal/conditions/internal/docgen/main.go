// Command docgen writes the reference pages of conditions and events from the catalogue, the same catalogue as the data that
// captf diagnose reads, and the table of the tests that show them from what the tests noted. Run it with `go generate ./provider/internal/conditions`.
//
// Not in this command: what a condition or event says about itself (provider/internal/conditions).
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run writes the pages into the first folder, from the notes in the second, the data into the third, and returns the exit
// code.
func run(args []string, stderr io.Writer) int {
	if len(args) != 3 {
		fmt.Fprintln(stderr, "docgen: expected the folder of the pages, that of the provider and that of the data as arguments")
		return 2
	}
	shown, err := readShown(os.DirFS(args[1]))
	if err != nil {
		fmt.Fprintln(stderr, "docgen:", err)
		return 1
	}
	data, err := catalogueData()
	if err != nil {
		fmt.Fprintln(stderr, "docgen: writing the catalogue as data:", err)
		return 1
	}
	files := map[string][]byte{filepath.Join(args[2], dataFile): data}
	for name, content := range pages(shown) {
		files[filepath.Join(args[0], name)] = content
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		//nolint:gosec // files for everyone to read
		if err := os.WriteFile(path, files[path], 0o644); err != nil {
			fmt.Fprintln(stderr, "docgen: writing a file:", err)
			return 1
		}
	}
	return 0
}
