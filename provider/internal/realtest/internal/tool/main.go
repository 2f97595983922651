// Command tool is what test modules need that no-op modules do not have: a provider whose resources are made when a server
// says so (without arguments), a program that tries to get at what is not a module's (intrude), and one that shows all
// it knows (leak).
package main

import (
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "intrude":
			intrude(os.Stdout)
		case "leak":
			leak(os.Stdout)
		}
		return
	}
	if err := tf6server.Serve("example.com/captf/slow", func() tfprotov6.ProviderServer { return slow{} }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
