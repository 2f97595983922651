package main

import (
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/tools/cover"
)

// defaultFloor is the least coverage, in percent of a package's statements, that the tests must reach.
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
	{"images/imagetest", "test support: most of it ends a test that cannot go on"},
	{"images/imagetest/provider", "a provider for tests, which runs in processes of its own"},
	{"images/imagetest/registry", "a registry for demonstrations, which runs in a process of its own"},
	{"sdk/runtime/runtimetest", "test support: what it does where there is no runtime would fail the test that runs it"},
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

// coverage is how many of a package's statements were executed, by its path in the module.
type coverage map[string]struct{ covered, all int }

// readCoverage reads a profile that go test wrote.
func readCoverage(profile, module string) (coverage, error) {
	files, err := cover.ParseProfiles(profile)
	if err != nil {
		return nil, fmt.Errorf("reading the coverage profile: %w", err)
	}
	c := coverage{}
	for _, file := range files {
		pkg := strings.TrimPrefix(path.Dir(file.FileName), module+"/")
		count := c[pkg]
		for _, b := range file.Blocks {
			count.all += b.NumStmt
			if b.Count > 0 {
				count.covered += b.NumStmt
			}
		}
		c[pkg] = count
	}
	return c, nil
}

// judge prints the coverage of each package and tells whether one is below its floor. After a run of everything (all), rows
// of the exemption table that name no package are wrong too. Without coverage it says nothing.
func (c coverage) judge(out io.Writer, all bool) (wrong bool) {
	if c == nil {
		return false
	}
	var lines []string
	defer func() {
		if len(lines) > 0 {
			fmt.Fprintf(out, "\ncoverage:\n%s\n", strings.Join(lines, "\n"))
		}
	}()
	for _, pkg := range sortedKeys(c) {
		if c[pkg].all == 0 {
			continue
		}
		percent := 100 * float64(c[pkg].covered) / float64(c[pkg].all)
		note := ""
		if floor, ok := floorOf(pkg); ok && percent < floor {
			note = fmt.Sprintf("   BELOW its floor of %.0f %%", floor)
			wrong = true
		}
		lines = append(lines, fmt.Sprintf("  %-48s %5.1f %%%s", pkg, percent, note))
	}
	if all {
		for _, e := range exempt {
			if _, ok := c[e.pkg]; !ok {
				lines = append(lines, fmt.Sprintf("  %s is exempt but does not exist: remove it from .ci/gotest/floors.go", e.pkg))
				wrong = true
			}
		}
	}
	return wrong
}
