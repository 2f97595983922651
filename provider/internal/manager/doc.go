// Package manager is the manager's command: its flags and environment as options that are checked before anything starts
// (provider-ops.md 1), logging, and what every manager has: leader election, probes, the server of metrics, and the server
// of webhooks. It builds the manager out of the controllers.
//
// Not in this package: what the controllers do (provider/internal/controllers), and what admission checks
// (provider/internal/webhooks).
package manager

//go:generate go test . -run ^TestFlagsPage$ -update
