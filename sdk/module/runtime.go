package module

import (
	"encoding/json"
	"fmt"
)

// Runtime is one of the two programs that read modules.
type Runtime int

// The runtimes, in the order in which views are listed.
const (
	Terraform Runtime = iota
	OpenTofu
)

// Runtimes lists every runtime that has a view of a tree.
func Runtimes() []Runtime { return []Runtime{Terraform, OpenTofu} }

// String returns the runtime's name as its makers write it.
func (r Runtime) String() string {
	switch r {
	case Terraform:
		return "Terraform"
	case OpenTofu:
		return "OpenTofu"
	}
	return fmt.Sprintf("Runtime(%d)", int(r))
}

// MarshalJSON writes the runtime's name.
func (r Runtime) MarshalJSON() ([]byte, error) { return json.Marshal(r.String()) }
