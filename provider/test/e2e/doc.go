// Package e2e holds the end-to-end tests of the provider with the real Cluster API. It is a Go module of its own, because
// Cluster API's controllers bring along what the provider does not need; `make e2e` runs it.
//
//   - Package management runs a management cluster: control plane, node, registry, Cluster API, and the provider from its own
//     release, whose Jobs run OpenTofu.
//   - Package capi composes Cluster API's controllers and webhooks in one process.
//   - Package workload brings to life, in memory, what the modules say that there is.
//
// Not in this package: what can be shown without Cluster API's controllers; the tests below provider/internal have that.
package e2e
