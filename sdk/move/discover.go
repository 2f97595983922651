package move

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// all reads a resource of a namespace.
func all(ctx context.Context, r Reader, q Query) ([]*unstructured.Unstructured, error) {
	var list []*unstructured.Unstructured
	err := r.List(ctx, q, func(o *unstructured.Unstructured) error {
		list = append(list, o)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing %s%s: %w", q.Resource.argument(), in(q.Namespace), err)
	}
	return list, nil
}

func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " of namespace " + namespace
}

// readKinds reads the kinds of custom resources that a management cluster has.
func readKinds(ctx context.Context, r Reader) (map[schema.GroupKind]*kind, error) {
	kinds := map[schema.GroupKind]*kind{}
	err := r.List(ctx, Query{Resource: crds}, func(o *unstructured.Unstructured) error {
		if k := kindOf(o); k.stored != "" {
			kinds[schema.GroupKind{Group: k.Group, Kind: k.Kind}] = k
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", crds.argument(), err)
	}
	return kinds, nil
}

// kindOf reads a CRD. The kind's own Version is the one to read objects in: that which is stored, by which clusterctl
// goes, but for Cluster API's own kinds the one whose fields are known here.
func kindOf(crd *unstructured.Unstructured) *kind {
	k := &kind{labels: crd.GetLabels()}
	text := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(crd.Object, fields...)
		return s
	}
	k.Group, k.Kind, k.Plural = text("spec", "group"), text("spec", "names", "kind"), text("spec", "names", "plural")
	k.Namespaced = text("spec", "scope") != "Cluster"
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		name, _, _ := unstructured.NestedString(version, "name")
		if served, _, _ := unstructured.NestedBool(version, "served"); served {
			k.served = append(k.served, name)
		}
		if stored, _, _ := unstructured.NestedBool(version, "storage"); stored {
			k.stored = name
		}
	}
	k.Version = k.stored
	if (k.Group == groupCore || k.Group == groupAddons) && slices.Contains(k.served, contract) {
		k.Version = contract
	}
	return k
}

// provider is an entry of clusterctl's inventory.
type provider struct {
	namespace, name, kind, version string
}

// readProviders reads the inventory. A cluster that clusterctl did not set up has none.
func readProviders(ctx context.Context, r Reader, kinds map[schema.GroupKind]*kind) ([]provider, error) {
	k := kinds[schema.GroupKind{Group: groupInventory, Kind: "Provider"}]
	if k == nil {
		return nil, nil
	}
	list, err := all(ctx, r, Query{Resource: k.Resource})
	if err != nil {
		return nil, err
	}
	providers := make([]provider, 0, len(list))
	for _, o := range list {
		text := func(field string) string {
			s, _, _ := unstructured.NestedString(o.Object, field)
			return s
		}
		providers = append(providers, provider{namespace: o.GetNamespace(), name: text("providerName"), kind: text("type"), version: text("version")})
	}
	return providers, nil
}

// source is what was read of the source.
type source struct {
	*graph

	providers []provider
	// strangers are objects of the namespace whose kinds clusterctl does not discover, by kind.
	strangers []*node
	jobs      []*unstructured.Unstructured
	leases    []*unstructured.Unstructured
	// missing are what a ClusterClass of another namespace lacks.
	missing []missingClass
	// others are the Clusters of other namespaces.
	others []*unstructured.Unstructured
}

// missingClass is something that clusterctl would read in another namespace and that is not there.
type missingClass struct {
	cluster *node
	object  Object
}

// readSource reads a namespace as clusterctl does, and what else the checks need.
func (c *checker) readSource(ctx context.Context, namespace string) (*source, error) {
	r := c.o.Source.Reader
	kinds, err := readKinds(ctx, r)
	if err != nil {
		return nil, err
	}
	s := &source{graph: newGraph(namespace)}
	s.kinds = kinds
	if s.providers, err = readProviders(ctx, r, kinds); err != nil {
		return nil, err
	}
	if err := s.discover(ctx, r); err != nil {
		return nil, err
	}
	if err := s.readClasses(ctx, r); err != nil {
		return nil, err
	}
	if k := kinds[schema.GroupKind{Group: groupCore, Kind: "Cluster"}]; k != nil {
		clusters, err := all(ctx, r, Query{Resource: k.Resource})
		if err != nil {
			return nil, err
		}
		s.others = slices.DeleteFunc(clusters, func(o *unstructured.Unstructured) bool { return o.GetNamespace() == namespace })
	}
	s.complete(s.others)
	return s, c.readRest(ctx, s)
}

// discover reads the objects that clusterctl reads.
func (s *source) discover(ctx context.Context, r Reader) error {
	add := func(q Query) error {
		err := r.List(ctx, q, func(o *unstructured.Unstructured) error {
			s.add(q.Resource, o)
			return nil
		})
		if err != nil {
			return fmt.Errorf("listing %s%s: %w", q.Resource.argument(), in(q.Namespace), err)
		}
		return nil
	}
	for _, k := range s.sortedKinds() {
		if !k.discovered() {
			continue
		}
		q := Query{Resource: k.Resource, Namespace: s.namespace}
		if !k.Namespaced {
			q.Namespace = ""
		}
		if err := add(q); err != nil {
			return err
		}
	}
	for _, resource := range []Resource{secrets, configMaps} {
		if err := add(Query{Resource: resource, Namespace: s.namespace, Metadata: true}); err != nil {
			return err
		}
	}
	for _, namespace := range s.infrastructureNamespaces() {
		if namespace == s.namespace {
			continue
		}
		if err := add(Query{Resource: secrets, Namespace: namespace, Metadata: true}); err != nil {
			return err
		}
	}
	return nil
}

// infrastructureNamespaces are those of infrastructure providers, whose Secrets clusterctl discovers too.
func (s *source) infrastructureNamespaces() []string {
	var list []string
	for _, p := range s.providers {
		if p.kind == infrastructureProvider {
			list = append(list, p.namespace)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (g *graph) sortedKinds() []*kind {
	list := make([]*kind, 0, len(g.kinds))
	for _, k := range g.kinds {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b *kind) int {
		if a.Group == b.Group {
			return compareText(a.Kind, b.Kind)
		}
		return compareText(a.Group, b.Group)
	})
	return list
}

// readClasses reads the ClusterClasses of other namespaces that Clusters are made of, with their templates.
func (s *source) readClasses(ctx context.Context, r Reader) error {
	for _, cluster := range s.of("Cluster") {
		if cluster.virtual() {
			continue
		}
		namespace, name, ok := classOf(cluster.object)
		if !ok || namespace == s.namespace || s.find(groupCore, "ClusterClass", namespace, name) != nil {
			continue
		}
		class, err := s.fetch(ctx, r, cluster, Object{APIVersion: groupCore + "/" + contract, Kind: "ClusterClass", Namespace: namespace, Name: name})
		if err != nil {
			return err
		}
		if class == nil {
			continue
		}
		for _, ref := range templatesOf(class) {
			if _, err := s.fetch(ctx, r, cluster, ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetch reads an object into the graph.
func (s *source) fetch(ctx context.Context, r Reader, cluster *node, ref Object) (*unstructured.Unstructured, error) {
	gk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	k := s.kinds[gk]
	var o *unstructured.Unstructured
	if k != nil {
		var err error
		if o, err = r.Get(ctx, Query{Resource: k.Resource, Namespace: ref.Namespace}, ref.Name); err != nil {
			return nil, fmt.Errorf("reading %s: %w", ref, err)
		}
	}
	if o == nil {
		s.missing = append(s.missing, missingClass{cluster: cluster, object: ref})
		return nil, nil
	}
	s.add(k.Resource, o)
	return o, nil
}

// templatesOf are the templates of a ClusterClass that clusterctl reads with it.
func templatesOf(class *unstructured.Unstructured) []Object {
	var refs []Object
	add := func(in map[string]any, fields ...string) {
		ref, _, _ := unstructured.NestedStringMap(in, append(fields, "templateRef")...)
		if ref["name"] != "" {
			refs = append(refs, Object{APIVersion: ref["apiVersion"], Kind: ref["kind"], Namespace: class.GetNamespace(), Name: ref["name"]})
		}
	}
	add(class.Object, "spec", "infrastructure")
	add(class.Object, "spec", "controlPlane")
	add(class.Object, "spec", "controlPlane", "machineInfrastructure")
	for _, workers := range []string{"machineDeployments", "machinePools"} {
		list, _, _ := unstructured.NestedSlice(class.Object, "spec", "workers", workers)
		for _, w := range list {
			worker, _ := w.(map[string]any)
			add(worker, "infrastructure")
			add(worker, "bootstrap")
		}
	}
	return refs
}

// readRest reads what clusterctl does not look at. What may not be read is noted.
func (c *checker) readRest(ctx context.Context, s *source) error {
	read := func(q Query) ([]*unstructured.Unstructured, error) {
		list, err := all(ctx, c.o.Source.Reader, q)
		if forbidden(err) {
			c.unreadable(q.Resource, q.Namespace, "list")
			return nil, nil
		}
		return list, err
	}
	for _, k := range s.sortedKinds() {
		if k.discovered() || !k.Namespaced || k.Group == groupInventory {
			continue
		}
		list, err := read(Query{Resource: k.Resource, Namespace: s.namespace})
		if err != nil {
			return err
		}
		for _, o := range list {
			n := &node{uid: o.GetUID(), object: o, resource: k.Resource, Object: Object{APIVersion: k.APIVersion(), Kind: k.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}}
			s.strangers = append(s.strangers, n)
		}
	}
	var err error
	if s.jobs, err = read(Query{Resource: jobs, Namespace: s.namespace}); err != nil {
		return err
	}
	s.leases, err = read(Query{Resource: leases, Namespace: s.namespace})
	return err
}
