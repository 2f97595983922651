package management

// Versions of Kubernetes of the workload clusters: those that tests begin with, and those that they upgrade to. The
// compatibility matrix reads them here.
const (
	OldKubernetes = "v1.35.4"
	NewKubernetes = "v1.36.1"
)
