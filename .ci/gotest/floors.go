package main

import (
	"fmt"
	"strings"
)

// defaultFloor is the least coverage, in percent of statements, that a package's own tests must reach.
const defaultFloor = 70

// floors raises it for parts of the tree. The longest matching path wins.
var floors = []struct {
	path    string
	percent float64
}{
	{"contract", 80}, // everything else is built on it
	{"lint", 80},     // a wrong finding costs every module author's trust
}

// exempt lists the packages without a floor, each with its reason. A row for a package that is gone is an error.
var exempt = []struct{ pkg, reason string }{
	{"contract/golden", "test support: its failure paths would fail the test that runs them"},
	{"sdk/runtime/runtimetest", "test support: finds binaries, and skips where there are none"},
	{"sdk/cmd/captf", "a main package: its verbs' packages are tested"},
	{"lint/cmd/tfcapi-lint", "a main package: its verbs' packages are tested"},
}

// floorOf is the floor of a package, given by its path in the module; ok is false if it has none.
func floorOf(pkg string) (percent float64, ok bool) {
	for _, e := range exempt {
		if e.pkg == pkg {
			return 0, false
		}
	}
	percent, longest := defaultFloor, -1
	for _, f := range floors {
		if (pkg == f.path || strings.HasPrefix(pkg, f.path+"/")) && len(f.path) > longest {
			percent, longest = f.percent, len(f.path)
		}
	}
	return percent, true
}

// belowFloor lists what is wrong with the coverage. After a run of everything (all), rows of the exemption table that name
// no package are wrong too.
func (r *report) belowFloor(all bool) []string {
	var wrong []string
	for _, pkg := range sortedKeys(r.coverage) {
		short := r.short(pkg)
		if floor, ok := floorOf(short); ok && r.coverage[pkg] < floor {
			wrong = append(wrong, fmt.Sprintf("%s: %.1f %% of statements are covered by its own tests; the floor is %.0f %%", short, r.coverage[pkg], floor))
		}
	}
	if all {
		for _, e := range exempt {
			if !r.packages[r.module+"/"+e.pkg] {
				wrong = append(wrong, fmt.Sprintf("%s: is exempt from the floors but does not exist; remove it from .ci/gotest/floors.go", e.pkg))
			}
		}
	}
	return wrong
}
