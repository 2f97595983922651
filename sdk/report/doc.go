// Package report writes what a harness run tells: the story while it is played
// ([Story]), and its result as text for people ([Text]), as a page for a browser
// ([HTML]), as JSON ([JSON], with the schema in
// docs/reference/harness-report.schema.json) or as JUnit ([JUnit]). It reads JSON
// reports again ([Read]) and writes how two differ ([DiffText], [DiffJSON]).
//
// Every text in a result may come from a module: whatever it holds, a line
// stays one line, a terminal is not controlled and XML stays well-formed.
//
// Not in this package: playing and judging (sdk/harness), findings of the
// linter (lint/format), and the choice of a format or an exit code (sdk/cmd).
package report

//go:generate go test -run "^Test(Diff|Conformance)?Schema$" -update .
