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
	{"contract", 80},          // everything else is built on it
	{"lint", 80},              // a wrong finding costs every module author's trust
	{"provider/internal", 80}, // it changes what runs in production
}

// exempt lists the packages without a floor, each with its reason. A row for a package that is gone is an error.
var exempt = []struct{ pkg, reason string }{
	{"images/imagetest", "test support: most of it ends a test that cannot go on"},
	{"images/imagetest/provider", "a provider for tests, which runs in processes of its own"},
	{"images/imagetest/registry", "a registry for demonstrations, which runs in a process of its own"},
	{"provider/api/v1alpha1", "types: nearly all of its statements are generated deep copies"},
	{"provider/cmd/manager", "a main function, which runs in a process of its own"},
	{"provider/cmd/release", "a main function, which runs in a process of its own"},
	{"provider/cmd/runner", "a main function, which runs in processes of its own"},
	{"provider/internal/controllers/controllerstest", "test support: most of it ends a test that cannot go on"},
	{"provider/internal/controllers/instant", "test support: it plays pods"},
	{"provider/internal/realtest", "test support: what it does where images cannot be built would fail the test that asks for them"},
	{"provider/internal/realtest/internal/tool", "a provider and an intruder for tests, which run in containers"},
	{"provider/testenv/kubelet/internal/jail", "what a container starts with, which runs in processes of its own"},
	{"provider/testenv/kubelet/internal/podtool", "a program for tests, which runs in containers"},
	{"provider/testenv/tools", "test support: what it does where there is no control plane would fail the test that starts it"},
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

// judge prints the coverage of each package and returns what is wrong with it: packages below their floor and, after a run
// of everything (all), rows of the exemption table that name no package. Without coverage it says nothing.
func (c coverage) judge(out io.Writer, all bool) (wrong []string) {
	if c == nil {
		return nil
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
		line := fmt.Sprintf("%-48s %5.1f %%", pkg, percent)
		if floor, ok := floorOf(pkg); ok && percent < floor {
			line += fmt.Sprintf("   BELOW its floor of %.0f %%", floor)
			wrong = append(wrong, line)
		}
		lines = append(lines, "  "+line)
	}
	if all {
		for _, e := range exempt {
			if _, ok := c[e.pkg]; !ok {
				line := e.pkg + " is exempt but does not exist: remove it from .ci/gotest/floors.go"
				lines, wrong = append(lines, "  "+line), append(wrong, line)
			}
		}
	}
	return wrong
}
