// Command generate writes the JSON Schemas and the reference page of the
// contract from its tables. It is run by go generate in the contract folder.
package main

import (
	"fmt"
	"os"
)

func main() {
	generated, err := files()
	if err == nil {
		err = write(".", generated)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
