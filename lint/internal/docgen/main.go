// Command docgen writes the reference page of the checks from the rules table.
// Run it with `go generate ./lint/...`.
//
// Not in this command: what a check says about itself (lint/rules).
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "docgen: expected the file to write as the one argument")
		os.Exit(3)
	}
	if err := os.WriteFile(os.Args[1], page(), 0o644); err != nil { //nolint:gosec // a page for everyone to read
		fmt.Fprintln(os.Stderr, "docgen: writing the page:", err)
		os.Exit(2)
	}
}
