// Package requirements is the table of what a control plane asks of modules:
// the rows of control-planes.md 8, as data.
//
// Not in this package: how a requirement is checked (package harness).
package requirements

import (
	"slices"

	"github.com/captf-toolkit/captf/contract"
)

// Level is how binding a requirement is, after RFC 2119.
type Level string

// The levels.
const (
	Must    Level = "MUST"
	MustNot Level = "MUST NOT"
	Should  Level = "SHOULD"
)

// Way is how a requirement can be verified.
type Way string

// The ways.
const (
	// WayLint: a linter sees it in the source.
	WayLint Way = "L"
	// WayHarness: the harness sees it by running the module.
	WayHarness Way = "H"
	// WayLive: only a probe of a live cluster sees it.
	WayLive Way = "P"
	// WayManual: a person has to judge it.
	WayManual Way = "M"
)

// Row is one requirement.
type Row struct {
	// ID is the id of control-planes.md 8.
	ID string
	// Planes are the short names of the control planes that it is for; nil means all.
	Planes []string
	// Roles are the roles of the modules that it is about.
	Roles []contract.Role
	Level Level
	// Title is the requirement in one sentence.
	Title string
	// Ways are how it can be verified.
	Ways []Way
	// Lint are the checks of the linter that see it in the source, if any does.
	Lint []string
	// Membership tells that it is about backends of the load balancer: it does
	// not apply under pattern C, and cannot be judged where the module does not
	// tell how its machines become backends.
	Membership bool
	// Remedy says what an author does about a failure.
	Remedy string
	// Question is what a person has to answer where no program can; "" where one can.
	Question string
}

// For tells that the row is for the control plane with the short name.
func (r Row) For(plane string) bool {
	return r.Planes == nil || slices.Contains(r.Planes, plane)
}

// Checked tells that the harness can judge the row.
func (r Row) Checked() bool { return slices.Contains(r.Ways, WayHarness) }

// Get returns the row with the given id.
func Get(id string) (Row, bool) {
	for _, r := range table {
		if r.ID == id {
			return r, true
		}
	}
	return Row{}, false
}

// All returns every row, by id.
func All() []Row { return table }
