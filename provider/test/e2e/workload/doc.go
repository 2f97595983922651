// Package workload plays the clouds of tests: it follows the states that runs of the no-op modules leave, and what is in
// them comes to life. A cluster module's endpoint gets an API server and etcd there, in memory, and an instance boots what
// its module was given as bootstrap data: it becomes a Node only if kubeadm would have been able to init or join with it.
//
//   - An endpoint is served if it is a port that Reserve returned, and with the authority of the bootstrap data of the
//     first control plane machine. Before that machine there is no handshake.
//   - Bootstrap data is that of the values file of a run. It counts only if its digest is the one that the module
//     recorded in the state, so that what the module did not receive boots nothing.
//   - kubeadm init needs the authorities in the payload, and an endpoint in its configuration that is the module's.
//     kubeadm join needs a token that the cluster has, and the digest of the cluster's authority.
//   - A Node has the provider id that the module returned, and the version that the module was asked for.
//   - What is no longer in a state is gone: Nodes, pods and, with the cluster's state, the endpoint.
//
// The API server and etcd are the handlers that Cluster API has for its own tests.
//
// Not in this package: anything that decides what there should be, and any fault.
package workload
