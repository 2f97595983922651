// Package capi runs the real Cluster API in the process of a test: core, the kubeadm bootstrap provider and
// KubeadmControlPlane, with their webhooks, on loopback. Definitions, webhooks and roles are those of the releases'
// kustomizations, and each controller acts as its own service account, so that what these roles forbid is forbidden here.
//
// What differs from three managers in a cluster: there is no leader election, stored versions of kinds are not migrated, and
// ClusterCache tries a workload cluster that does not answer yet again after a second.
//
// Not in this package: workload clusters, and any infrastructure provider.
package capi
