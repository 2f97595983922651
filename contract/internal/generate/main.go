// Command generate writes the JSON Schemas and the reference page of the
// contract from its tables. It is run by go generate in the contract folder.
package main

import "os"

func main() { os.Exit(run(".", os.Stderr)) }
