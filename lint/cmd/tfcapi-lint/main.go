// Command tfcapi-lint checks Terraform and OpenTofu modules against the CAPTF
// module contract. See docs/reference/lint.md for the checks.
//
// Not in this command: checks themselves (lint/rules) and output formats
// (lint/format).
package main

import (
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
