// Package operation decides what is done next for one object: which operation its next Job runs, or what is waited for and
// how long. Everything is a function of plain facts (B-035), so that a decision can be replayed from a table and two
// managers that know the same decide the same (B-144).
//
// The choice is one list of rules in Choose's order; each rule carries its id. What the provider gains later has its place
// between them by number: a requested restore (B-081) before the deletion rules, drift remediation (B-089) before the
// schedule.
//
// Not in this package: reading any of the facts, dependency gates, leases, names of Jobs and how a Job is built.
package operation
