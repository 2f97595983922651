package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// managed selects the Jobs and pods that the provider makes.
const managed = "captf.io/managed=true"

// module adds what belongs to an object that runs a module: its identity, and the Job that runs or that failed last, with
// its pods.
func (w *walk) module(n *node) error {
	if n == nil || n.obj == nil || !n.ours() {
		return nil
	}
	if err := w.identity(n); err != nil {
		return err
	}
	name := n.str("status", "activeJob", "name")
	field := "status.activeJob"
	if name == "" && n.has("status", "lastRun", "error") {
		name, field = n.str("status", "lastRun", "job"), "status.lastRun.job"
	}
	if name == "" {
		return nil
	}
	jobs, err := w.all("batch", kindJob, w.namespace, managed)
	if !soft(err) {
		return fmt.Errorf("reading Job %s: %w", name, err)
	}
	obj := jobs.items[name]
	if obj == nil && (!jobs.read || field != "status.activeJob") {
		return nil // Jobs are not kept for ever
	}
	job := w.add(n, roleJob, Reference{Group: "batch", Kind: kindJob, Namespace: w.namespace, Name: name}, obj, field)
	if obj == nil {
		job.absent = absentMissing
		return nil
	}
	pods, err := w.all("", kindPod, w.namespace, managed)
	if !soft(err) {
		return fmt.Errorf("reading pods of Job %s: %w", name, err)
	}
	var mine []*unstructured.Unstructured
	for _, p := range pods.names {
		pod := pods.items[p]
		for _, o := range pod.GetOwnerReferences() {
			if o.Kind == kindJob && o.Name == name {
				mine = append(mine, pod)
			}
		}
	}
	slices.SortStableFunc(mine, func(a, b *unstructured.Unstructured) int {
		return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
	})
	for _, pod := range mine {
		w.add(job, rolePod, Reference{Kind: kindPod, Namespace: w.namespace, Name: pod.GetName()}, pod, "")
	}
	return nil
}

// identity adds the TerraformClusterIdentity that the object uses: its own, else the default of the cluster, else the
// cluster's own. Identities of kind Secret are not read. One that several objects use is added once, under the first.
func (w *walk) identity(n *node) error {
	infra := w.root.child(roleInfraCluster)
	for _, place := range []struct {
		of   *node
		path []string
	}{{n, []string{"spec", "identityRef"}}, {infra, []string{"spec", "defaults", "identityRef"}}, {infra, []string{"spec", "identityRef"}}} {
		name := place.of.str(append(slices.Clone(place.path), "name")...)
		if name == "" {
			continue
		}
		if kind := place.of.str(append(slices.Clone(place.path), "kind")...); kind != "" && kind != kindTerraformIdentity {
			return nil
		}
		if n.identity = w.identities[name]; n.identity != nil {
			return nil
		}
		ref := Reference{Group: groupOurs, Kind: kindTerraformIdentity, Name: name}
		id, err := w.fetch(n, roleIdentity, ref, strings.Join(place.path, "."))
		n.identity, w.identities[name] = id, id
		return err
	}
	return nil
}

// containers reads the states of the containers of a pod.
func (n *node) containers() []container {
	var out []container
	for _, path := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, m := range n.list("status", path) {
			c := container{name: text(m["name"]), image: text(m["image"])}
			for _, when := range []string{"state", "lastState"} {
				state, _ := m[when].(map[string]any)
				if waiting, ok := state["waiting"].(map[string]any); ok && when == "state" {
					c.waiting, c.message = text(waiting["reason"]), text(waiting["message"])
				}
				if ended, ok := state["terminated"].(map[string]any); ok && c.ended == "" {
					c.ended = text(ended["reason"])
					c.message = cmp.Or(c.message, text(ended["message"]))
				}
			}
			out = append(out, c)
		}
	}
	return out
}

// container is the state of one container of a pod.
type container struct {
	name, image string
	// waiting is why it does not run, ended why it does not run any more.
	waiting, ended string
	message        string
}
