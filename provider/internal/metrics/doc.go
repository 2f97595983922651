// Package metrics holds the captf_* metrics: what each is, as a table, and functions that record what happened
// (provider-status.md 4). Alerts, the dashboard and the reference page range over the table.
//
// Every label but namespace and name takes its values from a fixed list; a value that is not on it is recorded as "other",
// so that nothing outside can make series. The gauges with namespace and name are of one object each, and go with it:
// [Forget].
//
// The metrics are registered with component-base, whose registry and controller-runtime's are served as one at /metrics.
//
// Not in this package: what is worth recording and when (provider/internal/controllers), alerts and the dashboard
// (provider/config/prometheus), and the server of /metrics (controller-runtime's, set up by provider/internal/manager).
package metrics

//go:generate go test . -run ^TestReferencePage$ -update
