// Command program stands for a runtime and a provider in tests: a small static
// program, whose record of the Go linker names a module that it is built from.
package main

import (
	"fmt"

	"github.com/hashicorp/go-version"
)

func main() { fmt.Println(version.Must(version.NewVersion("1.2.3"))) }
