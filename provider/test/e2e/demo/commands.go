package main

import "github.com/captf-toolkit/captf/provider/test/e2e/management"

// What the demo is about.
const (
	namespace = "demo"
	name      = "demo"
)

// Commands of the story. docs/clusterctl.md shows the same, which a test sees to.
const (
	makeNamespace = "kubectl create namespace demo"
	makeIdentity  = "clusterctl generate yaml --from release/identity.yaml | kubectl apply -f -"
	makeCluster   = "clusterctl generate cluster demo --infrastructure terraform --target-namespace demo --kubernetes-version " + management.OldKubernetes +
		" --control-plane-machine-count 1 --worker-machine-count 1 | kubectl apply -f -"

	// Of these flavours only what admission says is shown.
	tryPool = "clusterctl generate cluster pools --flavor machinepool --infrastructure terraform --target-namespace demo --kubernetes-version " +
		management.OldKubernetes + " --control-plane-machine-count 1 --worker-machine-count 2 | kubectl apply --dry-run=server -f -"
	tryClass = "clusterctl generate cluster classy --flavor clusterclass --infrastructure terraform --target-namespace demo --kubernetes-version " +
		management.OldKubernetes + " --control-plane-machine-count 1 --worker-machine-count 2 | kubectl apply --dry-run=server -n demo -f -"

	describe  = "clusterctl describe cluster demo -n demo"
	unfolded  = "clusterctl describe cluster demo -n demo --echo --grouping=false"
	diagnose  = "captf diagnose demo -n demo"
	moveCheck = "captf move check -n demo"

	jobs       = "kubectl -n demo get jobs -L captf.infrastructure.cluster.x-k8s.io/owner-name"
	conditions = `kubectl -n demo get terraformcluster demo -o jsonpath='{range .status.conditions[*]}{.type}={.status}{"\t"}{.reason}{"\n"}{end}'`
	machines   = "kubectl -n demo get machines,terraformmachines"
	states     = "kubectl -n demo get secrets -l tfstate=true"
	kubeconfig = "clusterctl get kubeconfig demo -n demo > demo.kubeconfig"
	nodes      = "kubectl --kubeconfig demo.kubeconfig get nodes"

	scale   = "kubectl -n demo scale machinedeployment demo-md-0 --replicas=2"
	upgrade = `kubectl -n demo patch kubeadmcontrolplane demo-control-plane --type=merge -p '{"spec":{"version":"` + management.NewKubernetes + `"}}'`

	remove  = "kubectl -n demo delete cluster demo --wait=false"
	nothing = "kubectl -n demo get clusters,machines,terraformclusters,terraformmachines,jobs,pods,leases,secrets"
	forget  = "kubectl delete terraformclusteridentity demo"
)

// What the parts of the story run.
var (
	identityCommands = []string{makeNamespace, makeIdentity}
	createCommands   = []string{makeCluster}
	halfwayCommands  = []string{describe, diagnose + " || true"} // which fails as long as the cluster is not healthy
	doneCommands     = []string{describe}
	lookCommands     = []string{unfolded, machines, jobs, conditions, states, kubeconfig, nodes, diagnose, tryPool, tryClass}
	changeCommands   = []string{scale, upgrade}
	changedCommands  = []string{describe, nodes}
	deleteCommands   = []string{remove}
	leftCommands     = []string{nothing, forget}
)

// tries are what a user may type while everything is kept running.
var tries = []struct{ what, command string }{
	{"the cluster, with every machine and its conditions", unfolded + " --show-conditions all"},
	{"why it is not there yet, if it is not", diagnose + " -o tree"},
	{"what clusterctl move would do with it", moveCheck},
	{"its Nodes", kubeconfig + " && " + nodes},
	{"what the Jobs were for", jobs},
	{"another worker", scale},
	{"a newer Kubernetes for the control plane", upgrade},
	{"back to nothing", "kubectl -n demo delete cluster demo"},
}
