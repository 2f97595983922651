package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// event is one line of go test -json; see go doc test2json and go help buildjson.
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	Elapsed     float64
	ImportPath  string
	FailedBuild string
}

// testID names a test, or a package if the test is empty.
type testID struct{ pkg, test string }

// skip is a test that did not run.
type skip struct {
	testID
	reason string
}

// report gathers the events of one run and prints what matters as it comes.
type report struct {
	out    io.Writer
	module string

	passed, failed, skipped int

	output   map[testID][]string
	builds   map[string][]string // compiler output by import path
	failures map[string][]string // failed tests by package, in order
	skips    []skip
	races    map[string]bool // packages in which the race detector found something
	flaky    []testID
}

func newReport(out io.Writer, module string) *report {
	return &report{
		out: out, module: module,
		output:   map[testID][]string{},
		builds:   map[string][]string{},
		failures: map[string][]string{},
		races:    map[string]bool{},
	}
}

// read consumes events until the end of the stream. Lines that are no events are shown as they are.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil {
				r.event(e)
			} else {
				fmt.Fprint(r.out, line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// event takes one event in.
func (r *report) event(e event) {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
	case "output":
		r.output[id] = append(r.output[id], e.Output)
		if strings.HasPrefix(e.Output, "WARNING: DATA RACE") {
			r.races[e.Package] = true
		}
	case "pass", "fail", "skip":
		if e.Test != "" {
			r.testEnded(id, e.Action)
		} else {
			r.packageEnded(e)
		}
	}
}

// testEnded counts a test or subtest. What a passing test printed is forgotten.
func (r *report) testEnded(id testID, action string) {
	switch action {
	case "pass":
		r.passed++
		delete(r.output, id)
	case "fail":
		r.failed++
		r.failures[id.pkg] = append(r.failures[id.pkg], id.test)
	case "skip":
		r.skipped++
		r.skips = append(r.skips, skip{id, reason(r.output[id])})
		delete(r.output, id)
	}
}

// packageEnded prints a package's line, and before it the output of its failures.
func (r *report) packageEnded(e event) {
	pkg := testID{pkg: e.Package}
	defer delete(r.output, pkg)
	if e.Action != "fail" {
		r.line("ok", e)
		return
	}
	if e.FailedBuild != "" {
		r.print(r.builds[e.FailedBuild])
		delete(r.builds, e.FailedBuild) // several packages may fail by one
	}
	for _, test := range r.failures[e.Package] {
		r.print(r.output[testID{e.Package, test}])
		delete(r.output, testID{e.Package, test})
	}
	// A test that neither passed nor failed was running when the process died.
	for _, test := range r.unended(e.Package) {
		r.failed++
		r.failures[e.Package] = append(r.failures[e.Package], test+didNotEnd)
		r.print(r.output[testID{e.Package, test}])
		delete(r.output, testID{e.Package, test})
	}
	if len(r.failures[e.Package]) == 0 {
		// It did not compile, its TestMain failed, or it left without saying which test was to blame.
		r.failed++
		r.failures[e.Package] = []string{""}
	}
	r.print(r.output[pkg])
	r.line("FAIL", e)
}

// fewEnough is how many failed tests are run once more.
const fewEnough = 3

// again lists the tests to be run once more, by package: those that failed, if they are few, and none of them died, could not
// be built, or raced.
func (r *report) again() map[string][]string {
	tests, n := map[string][]string{}, 0
	for pkg, failed := range r.failures {
		for _, test := range failed {
			top, _, _ := strings.Cut(test, "/")
			if r.races[pkg] || top == "" || strings.HasSuffix(test, didNotEnd) {
				return nil
			}
			if !slices.Contains(tests[pkg], top) {
				tests[pkg] = append(tests[pkg], top)
				n++
			}
		}
	}
	if n > fewEnough {
		return nil
	}
	return tests
}

// passedAgain takes in that all tests of a package that had failed have passed when they were run once more.
func (r *report) passedAgain(pkg string, tests []string) {
	for _, test := range tests {
		r.flaky = append(r.flaky, testID{pkg, test})
	}
	r.failed -= len(r.failures[pkg])
	r.passed += len(r.failures[pkg])
	delete(r.failures, pkg)
}

// didNotEnd is put behind the name of a test that ran when the process died.
const didNotEnd = " (did not end)"

// unended lists the tests of a package that have begun and not ended, by name.
func (r *report) unended(pkg string) []string {
	var tests []string
	for id := range r.output {
		if id.pkg == pkg && id.test != "" {
			tests = append(tests, id.test)
		}
	}
	slices.Sort(tests)
	return tests
}

// line prints how a package ended.
func (r *report) line(verdict string, e event) {
	note := ""
	if e.Action == "skip" {
		note = "   no tests"
	}
	fmt.Fprintf(r.out, "%-4s  %-44s %8.2f s%s\n", verdict, r.short(e.Package), e.Elapsed, note)
}

// print prints lines as the test wrote them.
func (r *report) print(lines []string) {
	for _, line := range lines {
		fmt.Fprint(r.out, line)
	}
}

// short is a package's path in the module.
func (r *report) short(pkg string) string {
	return strings.TrimPrefix(pkg, r.module+"/")
}

// summary prints what a reader needs after the last package, the packages below their floors among it: a build server may
// show no more than the end. The counts are the last line.
func (r *report) summary(below []string) {
	if len(r.skips) > 0 {
		fmt.Fprintln(r.out, "\nskipped:")
		for _, s := range r.skips {
			fmt.Fprintf(r.out, "  %s %s: %s\n", r.short(s.pkg), s.test, s.reason)
		}
	}
	if len(r.flaky) > 0 {
		fmt.Fprintln(r.out, "\nFLAKY, failed and then passed when run once more; each of them is a defect:")
		for _, f := range r.flaky {
			fmt.Fprintf(r.out, "  %s %s\n", r.short(f.pkg), f.test)
		}
	}
	if len(r.failures) > 0 {
		fmt.Fprintln(r.out, "\nfailed:")
		for _, pkg := range sortedKeys(r.failures) {
			for _, test := range r.failures[pkg] {
				fmt.Fprintf(r.out, "  %s\n", strings.TrimSpace(r.short(pkg)+" "+test))
			}
		}
	}
	if len(below) > 0 {
		fmt.Fprintf(r.out, "\ncoverage too low:\n  %s\n", strings.Join(below, "\n  "))
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}

// logPlace is the file and line that testing puts before a message.
var logPlace = regexp.MustCompile(`^\s+\S+\.go:\d+: `)

// reason finds, in what a skipped test printed, why it was skipped.
func reason(output []string) string {
	var words []string
	for _, line := range output {
		if strings.HasPrefix(line, "=== ") || strings.HasPrefix(strings.TrimSpace(line), "--- SKIP") {
			continue
		}
		if text := strings.TrimSpace(logPlace.ReplaceAllString(line, "")); text != "" {
			words = append(words, text)
		}
	}
	if len(words) == 0 {
		return "no reason given"
	}
	return strings.Join(words, " ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
