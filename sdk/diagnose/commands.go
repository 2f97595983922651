package diagnose

import (
	"fmt"
	"strings"
)

// kubectl makes a command line for an object.
func (in *inspection) kubectl(verb string, ref Reference, rest ...string) string {
	words := []string{in.Kubectl}
	if ref.Namespace != "" {
		words = append(words, "-n", ref.Namespace)
	}
	return strings.Join(append(append(words, verb, ref.resource()), rest...), " ")
}

// describe shows everything about an object.
func (in *inspection) describe(n *node) []string { return []string{in.kubectl("describe", n.ref)} }

// logs shows what the controllers of Cluster API and of the providers say.
func (in *inspection) controllers() []string {
	return []string{in.Kubectl + " get pods -A -l cluster.x-k8s.io/provider"}
}

// workload makes command lines for the workload cluster.
func (in *inspection) workload(commands ...string) []string {
	file := in.root.ref.Name + ".kubeconfig"
	out := []string{fmt.Sprintf("%s get kubeconfig -n %s %s > %s", in.Clusterctl, in.root.ref.Namespace, in.root.ref.Name, file)}
	for _, c := range commands {
		out = append(out, "kubectl --kubeconfig "+file+" "+c)
	}
	return out
}

// jobLogs shows what a module's run printed.
func (in *inspection) jobLogs(job string) string {
	return fmt.Sprintf("%s -n %s logs job/%s -c source", in.Kubectl, in.root.ref.Namespace, job)
}
