package move

import (
	"fmt"
	"slices"
	"strings"
)

// Access is a management cluster and how a user's commands reach it.
type Access struct {
	Reader Reader
	// Kubeconfig and Context are put into the commands that fix something; "" is the default of kubectl.
	Kubeconfig, Context string
}

// kubectl returns a command line.
func (a Access) kubectl(args ...string) string {
	return a.command("kubectl", "--context", args)
}

// clusterctl returns a command line.
func (a Access) clusterctl(args ...string) string {
	return a.command("clusterctl", "--kubeconfig-context", args)
}

func (a Access) command(program, contextFlag string, args []string) string {
	var line []string
	if a.Kubeconfig != "" {
		line = append(line, "--kubeconfig", a.Kubeconfig)
	}
	if a.Context != "" {
		line = append(line, contextFlag, a.Context)
	}
	line = append(line, args...)
	for i, word := range line {
		line[i] = quote(word)
	}
	return program + " " + strings.Join(line, " ")
}

// quote makes one word of the shell's.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// on appends how an object is named to a command.
func on(verb []string, r Resource, namespace, name string, rest ...string) []string {
	args := slices.Concat(verb, []string{r.argument(), name})
	if namespace != "" {
		args = append(args, "-n", namespace)
	}
	return append(args, rest...)
}

// get shows an object.
func (a Access) get(n *node) string {
	return a.kubectl(on([]string{"get"}, n.resource, n.Namespace, n.Name, "-o", "yaml")...)
}

// unannotate takes an annotation off.
func (a Access) unannotate(n *node, annotation string) string {
	return a.kubectl(on([]string{"annotate"}, n.resource, n.Namespace, n.Name, annotation+"-")...)
}

// label puts a label without a value on an object.
func (a Access) label(r Resource, namespace, name, label string) string {
	return a.kubectl(on([]string{"label"}, r, namespace, name, label+"=")...)
}

// merge patches an object.
func (a Access) merge(n *node, patch string) string {
	return a.kubectl(on([]string{"patch"}, n.resource, n.Namespace, n.Name, "--type", "merge", "-p", patch)...)
}

// unique is what an object has of the cluster that it is in, as a patch that takes it off.
const unique = `{"metadata":{"uid":null,"resourceVersion":null,"creationTimestamp":null,"managedFields":null,"ownerReferences":null}}`

// copyTo makes an object anew at a target. It is created rather than applied, because kubectl apply stores the content of
// what it applies, be it secret, in an annotation.
func (a Access) copyTo(target Access, makeNamespace bool, r Resource, namespace, name string) string {
	line := fmt.Sprintf("%s | kubectl patch --local -f - --type merge -p %s -o yaml | %s",
		a.kubectl(on([]string{"get"}, r, namespace, name, "-o", "yaml")...), quote(unique), target.kubectl("create", "-f", "-"))
	if makeNamespace && namespace != "" {
		line = target.ensure(namespace) + " && " + line
	}
	return line
}

// ensure makes a namespace unless it is there, be it by an earlier command.
func (a Access) ensure(namespace string) string {
	return fmt.Sprintf("{ %s || %s; }", a.kubectl("get", "namespace", namespace), a.kubectl("create", "namespace", namespace))
}

// again is the check itself, with other flags.
func (o Options) again(flags ...string) string {
	if o.Target != nil {
		for _, f := range [][2]string{{"--to-kubeconfig", o.Target.Kubeconfig}, {"--to-kubeconfig-context", o.Target.Context}} {
			if f[1] != "" {
				flags = append(flags, f[:]...)
			}
		}
	}
	return o.Source.command("captf move check", "--kubeconfig-context", append([]string{"-n", o.Namespace}, flags...))
}
