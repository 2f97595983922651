// Command tfcapi-lint checks Terraform and OpenTofu modules against the CAPTF
// module contract. See docs/reference/lint.md for the checks.
//
// Not in this command: checks themselves (lint/rules) and output formats
// (lint/format).
package main

import (
	"os"
	"runtime/debug"
)

func main() {
	collectLess()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// collectLess lets the heap grow further between collections than a server's
// should: the process lives for a fraction of a second, and what one module
// takes is garbage once it is checked. Above the limit collections are as
// frequent as they must be. The variables of the Go runtime have the last word.
func collectLess() {
	const percent, limit = 400, 1 << 30
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
