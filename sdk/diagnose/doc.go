// Package diagnose says why a Cluster API cluster is stuck: at which gate it stands, which object and field is responsible,
// since when, and what to do next. It follows a Cluster to its infrastructure, control plane, machines, bootstrap configs,
// and, for this project's own infrastructure, down to the Job, its pod and the step of the module that runs.
//
// Read collects the objects through a Reader, New judges them by a table of gates (Gates) and ranks what it finds: what is a
// consequence of something else is folded under it. Objects of any infrastructure, bootstrap or control-plane provider are
// understood by Cluster API's contract; what the conditions of this project's kinds mean comes from catalogue.json, which is
// generated from the provider's own catalogue.
//
// Not in this package: talking to an API server (sdk/diagnose/kube). It never reads a Secret, never connects to the workload
// cluster, and changes nothing.
package diagnose
