// Package kubelet runs pods on this machine as local processes, for tests: it is a scheduler with one node, that node's
// kubelet, and a container runtime in one. The API server is a real one; what pods do with it is what they would do in a
// cluster.
//
// A pod's images are pulled from a real registry and unpacked. On Linux each container runs in namespaces of its own:
// its image is its root, volumes are mounted where the pod says, and killing it kills all that it started. The network is
// this machine's, so that loopback addresses work for all. Where a machine does not allow that, paths in arguments and
// variables are rewritten instead, and Isolation says so.
//
// What is done as in a cluster: init containers in order, native sidecars, several containers, restart policies, Secret,
// ConfigMap, emptyDir, downward API and projected volumes with subpaths, modes and fsGroup; service account tokens by
// TokenRequest, refreshed; env and envFrom; users, groups and capabilities; read-only roots; probes by HTTP and TCP;
// container statuses, termination messages and conditions; SIGTERM with grace, then SIGKILL.
//
// Not in this package: networks, resource limits, evictions, volumes of storage providers, commands in a running container
// (exec probes and hooks). A pod that needs one of the latter two fails and says why; the rest is ignored.
package kubelet
