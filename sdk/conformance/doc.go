// Package conformance gives one verdict on a set of modules: what the linter
// finds in each module, the scenarios that were played on it, and the drills
// among them, of idempotency and of destroying ([New]). The verdict has a text,
// a JSON report with the schema in docs/reference/conformance.schema.json, and
// a badge.
//
// It is what captf contract test and package contracttest have in common.
//
// Not in this package: playing a whole list of scenarios with a story and
// interrupts (sdk/cmd/captf), subtests (sdk/contracttest), the rules (lint) and
// the scenarios themselves (sdk/harness).
package conformance
