package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Client is a client, or only a reader, of which calls can go wrong. It is a client.Client; its Watch works if the client
// below has one.
type Client struct {
	client.Client

	faults *Faults
	name   string

	mu      sync.Mutex
	stale   map[schema.GroupKind]*snapshot
	indexes map[schema.GroupKind]map[string]client.IndexerFunc
}

var _ client.WithWatch = (*Client)(nil)

// Client puts the faults in front of a client. The name is in its calls, and tells for instance a client that reads
// from a cache from one that does not.
func (f *Faults) Client(c client.Client, name string) *Client {
	return &Client{Client: c, faults: f, name: name, stale: map[schema.GroupKind]*snapshot{}, indexes: map[schema.GroupKind]map[string]client.IndexerFunc{}}
}

// Reader puts the faults in front of a reader. The scheme knows the kinds that it reads. Calls of the result that write
// panic, so return it as a client.Reader.
func (f *Faults) Reader(r client.Reader, scheme *runtime.Scheme, name string) client.Reader {
	return f.Client(readerOnly{Reader: r, scheme: scheme}, name)
}

// readerOnly makes a reader a client for what Client needs of one.
type readerOnly struct {
	client.Reader
	client.Writer
	client.StatusClient
	client.SubResourceClientConstructor
	scheme *runtime.Scheme
}

func (r readerOnly) Scheme() *runtime.Scheme   { return r.scheme }
func (readerOnly) RESTMapper() meta.RESTMapper { return nil }
func (r readerOnly) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, r.scheme)
}

func (readerOnly) IsObjectNamespaced(runtime.Object) (bool, error) {
	return false, errors.New("asking a reader whether an object has a namespace: it does not know")
}

// kind is that of an object, of a list that of its items.
func (c *Client) kind(o runtime.Object) schema.GroupKind {
	gvk, err := apiutil.GVKForObject(o, c.Scheme())
	if err != nil {
		return schema.GroupKind{Kind: fmt.Sprintf("%T", o)} // the client below says what is wrong with it
	}
	if meta.IsListType(o) {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	return gvk.GroupKind()
}

func (c *Client) call(v Verb, o client.Object) Call {
	return Call{Client: c.name, Verb: v, Kind: c.kind(o), Key: client.ObjectKeyFromObject(o)}
}

// Get implements client.Reader.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	call := Call{Client: c.name, Verb: Get, Kind: c.kind(obj), Key: key}
	if s := c.snapshotOf(call.Kind); s != nil && !c.faults.IsCut() {
		call.Err = s.get(key, obj)
		c.faults.note(call)
		return call.Err
	}
	return c.faults.calling(call, obj, func(o runtime.Object) error {
		return c.Client.Get(ctx, key, o.(client.Object), opts...)
	})
}

// List implements client.Reader.
func (c *Client) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	call := Call{Client: c.name, Verb: List, Kind: c.kind(list), Key: client.ObjectKey{Namespace: o.Namespace}}
	if s := c.snapshotOf(call.Kind); s != nil && !c.faults.IsCut() {
		call.Err = s.list(list, o, c.indexesOf(call.Kind))
		c.faults.note(call)
		return call.Err
	}
	return c.faults.calling(call, list, func(l runtime.Object) error {
		return c.Client.List(ctx, l.(client.ObjectList), opts...)
	})
}

// Watch implements client.WithWatch.
func (c *Client) Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	below, ok := c.Client.(client.WithWatch)
	if !ok {
		return nil, errors.New("watching: the client below has no watch")
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	var w watch.Interface
	call := Call{Client: c.name, Verb: Watch, Kind: c.kind(list), Key: client.ObjectKey{Namespace: o.Namespace}}
	err := c.faults.calling(call, list, func(l runtime.Object) (err error) {
		w, err = below.Watch(ctx, l.(client.ObjectList), opts...)
		return err
	})
	if err != nil && w != nil {
		w.Stop()
		w = nil
	}
	return w, err
}

// Create implements client.Writer.
func (c *Client) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return c.faults.calling(c.call(Create, obj), obj, func(o runtime.Object) error {
		return c.Client.Create(ctx, o.(client.Object), opts...)
	})
}

// Update implements client.Writer.
func (c *Client) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return c.faults.calling(c.call(Update, obj), obj, func(o runtime.Object) error {
		return c.Client.Update(ctx, o.(client.Object), opts...)
	})
}

// Patch implements client.Writer.
func (c *Client) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.faults.calling(c.call(Patch, obj), obj, func(o runtime.Object) error {
		return c.Client.Patch(ctx, o.(client.Object), patch, opts...)
	})
}

// Apply implements client.Writer.
func (c *Client) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return c.faults.calling(c.applied(obj), nil, func(runtime.Object) error { return c.Client.Apply(ctx, obj, opts...) })
}

// Delete implements client.Writer.
func (c *Client) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return c.faults.calling(c.call(Delete, obj), obj, func(o runtime.Object) error {
		return c.Client.Delete(ctx, o.(client.Object), opts...)
	})
}

// DeleteAllOf implements client.Writer.
func (c *Client) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	var o client.DeleteAllOfOptions
	o.ApplyOptions(opts)
	call := Call{Client: c.name, Verb: DeleteAllOf, Kind: c.kind(obj), Key: client.ObjectKey{Namespace: o.Namespace}}
	return c.faults.calling(call, obj, func(ob runtime.Object) error {
		return c.Client.DeleteAllOf(ctx, ob.(client.Object), opts...)
	})
}

// Status implements client.StatusClient.
func (c *Client) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.SubResourceClientConstructor.
func (c *Client) SubResource(name string) client.SubResourceClient {
	return &subresource{SubResourceClient: c.Client.SubResource(name), client: c, name: name}
}

// applied is the call of an apply configuration, which says itself what it is about.
func (c *Client) applied(a runtime.ApplyConfiguration) Call {
	call := Call{Client: c.name, Verb: Apply}
	if k, ok := a.(interface {
		GetKind() *string
		GetAPIVersion() *string
	}); ok && k.GetKind() != nil && k.GetAPIVersion() != nil {
		call.Kind = schema.FromAPIVersionAndKind(*k.GetAPIVersion(), *k.GetKind()).GroupKind()
	}
	if n, ok := a.(interface {
		GetName() *string
		GetNamespace() *string
	}); ok {
		if v := n.GetName(); v != nil {
			call.Key.Name = *v
		}
		if v := n.GetNamespace(); v != nil {
			call.Key.Namespace = *v
		}
	}
	return call
}

// subresource is the client of a subresource.
type subresource struct {
	client.SubResourceClient
	client *Client
	name   string
}

func (s *subresource) call(v Verb, o client.Object) Call {
	c := s.client.call(v, o)
	c.Subresource = s.name
	return c
}

// Get implements client.SubResourceReader.
func (s *subresource) Get(ctx context.Context, obj, sub client.Object, opts ...client.SubResourceGetOption) error {
	return s.client.faults.calling(s.call(Get, obj), sub, func(o runtime.Object) error {
		return s.SubResourceClient.Get(ctx, obj, o.(client.Object), opts...)
	})
}

// Create implements client.SubResourceWriter.
func (s *subresource) Create(ctx context.Context, obj, sub client.Object, opts ...client.SubResourceCreateOption) error {
	return s.client.faults.calling(s.call(Create, obj), sub, func(o runtime.Object) error {
		return s.SubResourceClient.Create(ctx, obj, o.(client.Object), opts...)
	})
}

// Update implements client.SubResourceWriter.
func (s *subresource) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	return s.client.faults.calling(s.call(Update, obj), obj, func(o runtime.Object) error {
		return s.SubResourceClient.Update(ctx, o.(client.Object), opts...)
	})
}

// Patch implements client.SubResourceWriter.
func (s *subresource) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.client.faults.calling(s.call(Patch, obj), obj, func(o runtime.Object) error {
		return s.SubResourceClient.Patch(ctx, o.(client.Object), patch, opts...)
	})
}

// Apply implements client.SubResourceWriter.
func (s *subresource) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	call := s.client.applied(obj)
	call.Subresource = s.name
	return s.client.faults.calling(call, nil, func(runtime.Object) error { return s.SubResourceClient.Apply(ctx, obj, opts...) })
}
