// Command gotest runs the project's tests and says what a person and a build server need to know: one line a package with
// its coverage, the output of what failed and nothing else, every skipped test with its reason, the packages whose
// coverage is below their floor (floors.go), and as its last line "N passed, N failed, N skipped". In a run of everything, up to
// three tests that failed, without a race, run once more by themselves; those that pass then are listed as FLAKY.
//
//	go run ./.ci/gotest [-run REGEXP] [-timeout DURATION] [-race=false] [-floors=false] PACKAGE...
//
// It exits 0 if all is well, 1 if a test or a floor failed, 2 if the tests could not be run, 3 on wrong usage.
//
// It is not a test framework and not a wrapper for go test's other flags: call go test for those.
package main

import "os"

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitError  = 2
	exitUsage  = 3
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
