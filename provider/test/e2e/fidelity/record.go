package fidelity

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Sighting is what a watch said of an object at one time.
type Sighting struct {
	// Revision is that of etcd. One etcd holds all objects, so that revisions order what happened to any of them.
	Revision uint64 `json:"revision"`
	// Gone tells that the object was removed.
	Gone bool `json:"gone,omitempty"`
	// Object holds the fields of the object that events are read from, and no others.
	Object map[string]any `json:"object"`
}

func (s Sighting) object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: s.Object}
}

// key is the kind and the name.
func (s Sighting) key() string { return s.object().GetKind() + "/" + s.object().GetName() }

// watched are the kinds that are watched.
var watched = []schema.GroupVersionKind{
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachinePool"},
	{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmControlPlane"},
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1", Kind: "TerraformCluster"},
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1", Kind: "TerraformMachine"},
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1", Kind: "TerraformMachinePool"},
	{Group: "batch", Version: "v1", Kind: "Job"},
}

// kept are the fields that are noted, besides the kind and the name.
var kept = [][]string{
	{"metadata", "deletionTimestamp"},
	{"metadata", "labels", labelControlPlane}, {"metadata", "labels", labelOwnerKind}, {"metadata", "labels", labelOwnerName}, {"metadata", "labels", labelOperation},
	{"metadata", "annotations", annotationHook},
	{"spec", "suspend"}, {"spec", "controlPlaneEndpoint"}, {"spec", "bootstrap", "dataSecretName"}, {"spec", "template", "spec", "bootstrap", "dataSecretName"},
	{"status", "initialization"}, {"status", "nodeRef", "name"}, {"status", "nodeRefs"}, {"status", "deletion", "nodeDrainStartTime"},
}

// conditions are the conditions that are noted, without times and messages.
var conditions = []string{"Deleting", "HealthCheckSucceeded", "OwnerRemediated", "Complete", "Failed"}

// trim makes a sighting of an object.
func trim(o *unstructured.Unstructured, gone bool) (Sighting, error) {
	revision, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return Sighting{}, fmt.Errorf("reading the revision of %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	s := Sighting{Revision: revision, Gone: gone, Object: map[string]any{"kind": o.GetKind(), "metadata": map[string]any{"name": o.GetName()}}}
	for _, path := range kept {
		// The fields are known: what has another type there is as good as not there.
		if value, ok, err := unstructured.NestedFieldCopy(o.Object, path...); ok && err == nil {
			if err := unstructured.SetNestedField(s.Object, value, path...); err != nil {
				return Sighting{}, fmt.Errorf("noting %s of %s %s: %w", strings.Join(path, "."), o.GetKind(), o.GetName(), err)
			}
		}
	}
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var some []any
	for _, c := range all {
		if c, ok := c.(map[string]any); ok && slices.Contains(conditions, fmt.Sprint(c["type"])) {
			some = append(some, map[string]any{"type": c["type"], "status": c["status"], "reason": c["reason"]})
		}
	}
	if some == nil {
		return s, nil
	}
	if err := unstructured.SetNestedSlice(s.Object, some, "status", "conditions"); err != nil {
		return Sighting{}, fmt.Errorf("noting the conditions of %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return s, nil
}

// Recorder notes what watches say.
type Recorder struct {
	mu   sync.Mutex
	seen []Sighting
	last map[string]Sighting
	errs []error
	done sync.WaitGroup
	stop context.CancelFunc
}

// Watch notes what happens to the objects of a namespace until [Recorder.Stop].
func Watch(ctx context.Context, c client.WithWatch, namespace string) (*Recorder, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &Recorder{last: map[string]Sighting{}, stop: cancel}
	for _, kind := range watched {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		events, err := c.Watch(ctx, list, client.InNamespace(namespace))
		if err != nil {
			r.stop()
			return nil, fmt.Errorf("watching %s: %w", kind.Kind, err)
		}
		r.done.Go(func() {
			defer events.Stop()
			for e := range events.ResultChan() {
				if ctx.Err() != nil {
					return // what comes now is that the watch is over
				}
				r.note(e)
			}
			if ctx.Err() == nil {
				r.fail(fmt.Errorf("watching %s: the watch ended", kind.Kind))
			}
		})
	}
	return r, nil
}

// Stop ends the watches and returns what was noted, in the order in which it happened.
func (r *Recorder) Stop() ([]Sighting, error) {
	r.stop()
	r.done.Wait()
	return r.Seen()
}

// Seen returns what was noted so far, in the order in which it happened.
func (r *Recorder) Seen() ([]Sighting, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.seen)
	slices.SortStableFunc(out, func(a, b Sighting) int { return cmp.Compare(a.Revision, b.Revision) })
	return out, errors.Join(r.errs...)
}

// aside is the kind of what marks the beginning and, when it is gone, the end of something that is not compared.
const aside = "Aside"

// Aside marks that what follows until the returned function is called belongs to no story, and why. All must be settled before and
// after it.
func (r *Recorder) Aside(ctx context.Context, c client.Client, why string) (end func(context.Context) error, err error) {
	mark := func(ctx context.Context, gone bool) error {
		list := &unstructured.UnstructuredList{} // any list tells the revision at present
		list.SetGroupVersionKind(watched[0])
		if err := c.List(ctx, list, client.Limit(1)); err != nil {
			return fmt.Errorf("reading the revision at present: %w", err)
		}
		s, err := trim(&unstructured.Unstructured{Object: map[string]any{
			"kind": aside, "metadata": map[string]any{"name": why, "resourceVersion": list.GetResourceVersion()},
		}}, gone)
		if err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = append(r.seen, s)
		return nil
	}
	return func(ctx context.Context) error { return mark(ctx, true) }, mark(ctx, false)
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func (r *Recorder) note(e watch.Event) {
	o, ok := e.Object.(*unstructured.Unstructured)
	if !ok || e.Type == watch.Error {
		r.fail(fmt.Errorf("watching: %v", e.Object))
		return
	}
	s, err := trim(o, e.Type == watch.Deleted)
	if err != nil {
		r.fail(err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.last[s.key()]
	if known && before.Gone == s.Gone && reflect.DeepEqual(before.Object, s.Object) {
		return // what changed says nothing
	}
	r.last[s.key()] = s
	r.seen = append(r.seen, s)
}

// Write writes sightings, one a line.
func Write(w io.Writer, seen []Sighting) error {
	for _, s := range seen {
		line, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("writing sightings: %w", err)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("writing sightings: %w", err)
		}
	}
	return nil
}

// Read reads what Write wrote.
func Read(r io.Reader) ([]Sighting, error) {
	const longest = 1 << 20
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longest)
	var out []Sighting
	for n := 1; lines.Scan(); n++ {
		var s Sighting
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("reading sightings: line %d: %w", n, err)
		}
		out = append(out, s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading sightings: %w", err)
	}
	return out, nil
}
