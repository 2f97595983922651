package faults

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// snapshot is what the objects of a kind were at a moment.
type snapshot struct {
	kind    schema.GroupKind
	objects []client.Object
}

// Freeze reads the lists, of all namespaces, and answers Get and List of their kinds with what was read, until Thaw: as
// a cache that is behind. Writes and other clients are not affected.
func (c *Client) Freeze(ctx context.Context, lists ...client.ObjectList) error {
	for _, l := range lists {
		l = l.DeepCopyObject().(client.ObjectList)
		s := &snapshot{kind: c.kind(l)}
		if err := c.Client.List(ctx, l); err != nil {
			return fmt.Errorf("freezing %s: %w", s.kind, err)
		}
		items, err := meta.ExtractList(l)
		if err != nil {
			return fmt.Errorf("freezing %s: %w", s.kind, err)
		}
		for _, o := range items {
			s.objects = append(s.objects, o.(client.Object))
		}
		c.mu.Lock()
		c.stale[s.kind] = s
		c.mu.Unlock()
	}
	return nil
}

// Thaw ends every Freeze of this client.
func (c *Client) Thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.stale)
}

// IndexField tells how to select by a field while a kind is frozen, as the cache below was told. It implements
// client.FieldIndexer.
func (c *Client) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := c.kind(obj)
	if c.indexes[kind] == nil {
		c.indexes[kind] = map[string]client.IndexerFunc{}
	}
	c.indexes[kind][field] = extract
	return nil
}

func (c *Client) snapshotOf(kind schema.GroupKind) *snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stale[kind]
}

func (c *Client) indexesOf(kind schema.GroupKind) map[string]client.IndexerFunc {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.indexes[kind]
}

func (s *snapshot) get(key client.ObjectKey, into client.Object) error {
	i := slices.IndexFunc(s.objects, func(o client.Object) bool { return client.ObjectKeyFromObject(o) == key })
	if i < 0 {
		return apierrors.NewNotFound(schema.GroupResource{Group: s.kind.Group, Resource: s.kind.Kind}, key.Name)
	}
	return convert(s.objects[i], into)
}

func (s *snapshot) list(into client.ObjectList, o client.ListOptions, indexes map[string]client.IndexerFunc) error {
	items, err := meta.GetItemsPtr(into)
	if err != nil {
		return err
	}
	element := reflect.TypeOf(items).Elem().Elem()
	var out []runtime.Object
	for _, obj := range s.objects {
		if ok, err := selects(o, obj, indexes); err != nil {
			return err
		} else if !ok {
			continue
		}
		item, ok := reflect.TypeAssert[client.Object](reflect.New(element))
		if !ok {
			return fmt.Errorf("listing %s as it was: items of %T are no objects", s.kind, into)
		}
		if err := convert(obj, item); err != nil {
			return err
		}
		out = append(out, item)
	}
	return meta.SetList(into, out)
}

func selects(o client.ListOptions, obj client.Object, indexes map[string]client.IndexerFunc) (bool, error) {
	if o.Namespace != "" && o.Namespace != obj.GetNamespace() {
		return false, nil
	}
	if o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
		return false, nil
	}
	if o.FieldSelector == nil {
		return true, nil
	}
	for _, r := range o.FieldSelector.Requirements() {
		values, err := fieldValues(obj, r, indexes)
		if err != nil {
			return false, err
		}
		if slices.Contains(values, r.Value) == (r.Operator == selection.NotEquals) {
			return false, nil
		}
	}
	return true, nil
}

func fieldValues(obj client.Object, r fields.Requirement, indexes map[string]client.IndexerFunc) ([]string, error) {
	if extract, ok := indexes[r.Field]; ok {
		return extract(obj), nil
	}
	switch r.Field {
	case "metadata.name":
		return []string{obj.GetName()}, nil
	case "metadata.namespace":
		return []string{obj.GetNamespace()}, nil
	}
	return nil, fmt.Errorf("selecting by %s while the kind is frozen: call IndexField first", r.Field)
}

// convert copies an object into one that may be of another Go type, such as metadata only.
func convert(from, into client.Object) error {
	if reflect.TypeOf(from) == reflect.TypeOf(into) {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(from)
	if err != nil {
		return err
	}
	gvk := into.GetObjectKind().GroupVersionKind()
	if u, ok := into.(*unstructured.Unstructured); ok {
		u.Object = content
	} else if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, into); err != nil {
		return err
	}
	if !gvk.Empty() {
		into.GetObjectKind().SetGroupVersionKind(gvk)
	}
	return nil
}
