// Package config is about the manifests in this directory: its tests keep them true. Alerts and the dashboard use metrics
// that there are, roles give a reason for each rule, and the manager's pods are as restricted as a cluster can ask for.
//
// Not in this package: code. What a release makes of the manifests is in provider/internal/release.
package config

//go:generate go test . -run ^TestAlertsPage$ -update
