// Package testenv runs a real Kubernetes control plane on this machine for tests: etcd, kube-apiserver and, if asked
// for, kube-controller-manager, as processes that go away with the program that started them.
//
// Start takes about four seconds and 0.8 GB, so one control plane serves all the tests of a test binary (see the
// package tools), and each test works in a namespace of its own. Packages beside this one add what a control plane
// alone does not do: kubelet runs the pods of Jobs as local processes, registry serves their images, and faults breaks
// the connection of a controller in chosen places.
//
// Not in this package: anything about what is tested with it, and how the binaries are built; Options.Binaries finds them.
package testenv
