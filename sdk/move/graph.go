package move

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Groups, labels and annotations of Cluster API and clusterctl. A test holds them against their Go packages, which are a
// lot to carry for a few words.
const (
	groupCore      = "cluster.x-k8s.io"
	groupAddons    = "addons.cluster.x-k8s.io"
	groupInventory = "clusterctl.cluster.x-k8s.io"
	contract       = "v1beta2"

	labelClusterctl    = "clusterctl.cluster.x-k8s.io"
	labelMove          = "clusterctl.cluster.x-k8s.io/move"
	labelMoveHierarchy = "clusterctl.cluster.x-k8s.io/move-hierarchy"
	labelProvider      = "cluster.x-k8s.io/provider"
	labelCluster       = "cluster.x-k8s.io/cluster-name"
	labelContract      = "cluster.x-k8s.io/" // and the contract
	annotationPaused   = "cluster.x-k8s.io/paused"
	annotationBlock    = "clusterctl.cluster.x-k8s.io/block-move"

	infrastructureProvider = "InfrastructureProvider"
)

// purposes are the ends of the names of a Cluster's Secrets, by which clusterctl knows those without an owner.
var purposes = []string{"kubeconfig", "ca", "etcd", "sa", "proxy", "apiserver-etcd-client"}

// secretOf returns the Cluster that a Secret is named after as one of its certificates.
func secretOf(name string) (cluster string, ok bool) {
	for _, p := range purposes {
		if cluster, ok := strings.CutSuffix(name, "-"+p); ok {
			return cluster, true
		}
	}
	return "", false
}

// kind is what is known of a kind of custom resources.
type kind struct {
	Resource
	// labels of the CRD.
	labels map[string]string
	// stored is the version that the API server stores, served those that it serves.
	stored string
	served []string
}

// discovered tells whether clusterctl discovers the kind: it does so by the label that it puts on CRDs.
func (k *kind) discovered() bool {
	_, ok := k.labels[labelClusterctl]
	return ok
}

// hierarchies are the kinds that move with all that they own without their CRD being labelled.
var hierarchies = []schema.GroupKind{
	{Group: groupCore, Kind: "Cluster"}, {Group: groupCore, Kind: "ClusterClass"}, {Group: groupAddons, Kind: "ClusterResourceSet"},
}

// forced tells whether objects of the kind move without an owner, and whether with all that they own.
func (k *kind) forced() (move, hierarchy bool) {
	if !k.discovered() {
		return false, false
	}
	_, hierarchy = k.labels[labelMoveHierarchy]
	hierarchy = hierarchy || slices.Contains(hierarchies, schema.GroupKind{Group: k.Group, Kind: k.Kind})
	_, move = k.labels[labelMove]
	return move || hierarchy, hierarchy
}

// node is an object of the graph.
type node struct {
	Object
	resource Resource
	// object is what was read, of Secrets and ConfigMaps the metadata; nil if only an owner reference tells of it.
	object *unstructured.Unstructured
	uid    types.UID

	// owners are by owner reference, softOwners by name; dependents are both the other way round, owned the first.
	owners, softOwners, dependents, owned []*node
	// tenants are the objects that it moves with.
	tenants map[*node]bool

	forceMove, forceHierarchy, global, globalHierarchy, keep bool
	// moves tells that clusterctl would move it; wanted, that it would if all owners did.
	moves, wanted bool
}

// virtual tells that the object was not discovered.
func (n *node) virtual() bool { return n.object == nil }

func (n *node) groupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(n.APIVersion, n.Kind).GroupKind()
}

func (n *node) is(group, kind string) bool {
	return n.Kind == kind && n.groupKind().Group == group
}

// deleted tells whether clusterctl deletes the object at the source after it moved.
func (n *node) deleted() bool { return !n.global && !n.globalHierarchy && !n.keep }

func (n *node) own(owner *node) {
	if slices.Contains(n.owners, owner) {
		return
	}
	n.owners = append(n.owners, owner)
	owner.owned = append(owner.owned, n)
	owner.dependents = append(owner.dependents, n)
}

func (n *node) ownSoftly(owner *node) {
	n.softOwners = append(n.softOwners, owner)
	owner.dependents = append(owner.dependents, n)
}

// graph is the graph of objects as clusterctl makes it: cmd/clusterctl/client/cluster/objectgraph.go of Cluster API.
type graph struct {
	namespace string
	// kinds are the kinds of the source's CRDs.
	kinds map[schema.GroupKind]*kind
	nodes map[types.UID]*node
	// byName finds an object that was discovered.
	byName map[key]*node
}

// key names an object regardless of its version.
type key struct {
	schema.GroupKind
	namespace, name string
}

func newGraph(namespace string) *graph {
	return &graph{namespace: namespace, kinds: map[schema.GroupKind]*kind{}, nodes: map[types.UID]*node{}, byName: map[key]*node{}}
}

// add adds an object that was discovered.
func (g *graph) add(r Resource, o *unstructured.Unstructured) {
	n := g.nodes[o.GetUID()]
	if n == nil {
		n = &node{uid: o.GetUID(), tenants: map[*node]bool{}}
		g.nodes[n.uid] = n
	}
	if !n.virtual() {
		return
	}
	n.Object = Object{APIVersion: r.APIVersion(), Kind: r.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
	n.object, n.resource = o, r
	g.byName[key{n.groupKind(), n.Namespace, n.Name}] = n
	_, n.forceMove = o.GetLabels()[labelMove]
	_, n.forceHierarchy = o.GetLabels()[labelMoveHierarchy]
	if k := g.kinds[n.groupKind()]; k != nil && k.discovered() {
		move, hierarchy := k.forced()
		n.forceMove, n.forceHierarchy = n.forceMove || move, n.forceHierarchy || hierarchy
		n.global = !k.Namespaced
	}
	for _, ref := range o.GetOwnerReferences() {
		owner := g.nodes[ref.UID]
		if owner == nil {
			owner = &node{Object: Object{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name}, uid: ref.UID, tenants: map[*node]bool{}}
			g.nodes[ref.UID] = owner
		}
		n.own(owner)
	}
}

// find returns an object that was discovered, or nil.
func (g *graph) find(group, kind, namespace, name string) *node {
	return g.byName[key{schema.GroupKind{Group: group, Kind: kind}, namespace, name}]
}

// all are the objects of the graph in a fixed order.
func (g *graph) all() []*node {
	list := make([]*node, 0, len(g.nodes))
	for _, n := range g.nodes {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *node) int { return cmp.Or(a.Object.compare(b.Object), cmp.Compare(a.uid, b.uid)) })
	return list
}

// of are the objects of a kind of Cluster API's in a fixed order, those too of which only an owner reference tells.
func (g *graph) of(kind string) []*node {
	var list []*node
	for _, n := range g.all() {
		if n.is(groupCore, kind) {
			list = append(list, n)
		}
	}
	return list
}

// classOf is the ClusterClass that a Cluster is made of.
func classOf(cluster *unstructured.Unstructured) (namespace, name string, ok bool) {
	name, _, _ = unstructured.NestedString(cluster.Object, "spec", "topology", "classRef", "name")
	namespace, _, _ = unstructured.NestedString(cluster.Object, "spec", "topology", "classRef", "namespace")
	return cmp.Or(namespace, cluster.GetNamespace()), name, name != ""
}

// complete follows ownership and decides what moves, once everything was added.
func (g *graph) complete(elsewhere []*unstructured.Unstructured) {
	g.setSoftOwners()
	g.setTenants()
	g.setKept(elsewhere)
	g.setMoves()
}

// setSoftOwners finds what belongs to a Cluster without an owner reference.
func (g *graph) setSoftOwners() {
	for _, n := range g.all() {
		switch {
		case n.APIVersion == "v1" && n.Kind == "Secret" && !n.virtual() && len(n.owners) == 0:
			name, ok := secretOf(n.Name)
			if cluster := g.find(groupCore, "Cluster", n.Namespace, name); ok && cluster != nil {
				n.ownSoftly(cluster)
			}
		case n.is(groupCore, "Cluster") && !n.virtual():
			namespace, name, ok := classOf(n.object)
			if class := g.find(groupCore, "ClusterClass", namespace, name); ok && class != nil {
				n.ownSoftly(class)
			}
		case n.is(groupAddons, "ClusterResourceSetBinding") && !n.virtual():
			name, _, _ := unstructured.NestedString(n.object.Object, "spec", "clusterName")
			if cluster := g.find(groupCore, "Cluster", n.Namespace, name); cluster != nil {
				n.ownSoftly(cluster)
			}
		}
	}
}

// setTenants tells everything below a hierarchy that it belongs to it.
func (g *graph) setTenants() {
	for _, root := range g.all() {
		if !root.forceHierarchy {
			continue
		}
		for next := []*node{root}; len(next) > 0; {
			n := next[len(next)-1]
			next = next[:len(next)-1]
			if n.tenants[root] {
				continue
			}
			n.tenants[root] = true
			n.globalHierarchy = n.globalHierarchy || root.global
			next = append(next, n.dependents...)
		}
	}
}

// setKept finds the ClusterClasses, with what they own, that are not deleted because Clusters of other namespaces use
// them.
func (g *graph) setKept(elsewhere []*unstructured.Unstructured) {
	for _, class := range g.of("ClusterClass") {
		used := class.Namespace != g.namespace || slices.ContainsFunc(elsewhere, func(c *unstructured.Unstructured) bool {
			namespace, name, ok := classOf(c)
			return ok && c.GetNamespace() != g.namespace && namespace == class.Namespace && name == class.Name
		})
		if !used {
			continue
		}
		class.keep = true
		for next := slices.Clone(class.owned); len(next) > 0; {
			n := next[len(next)-1]
			next = next[:len(next)-1]
			if !n.keep {
				n.keep = true
				next = append(next, n.owned...)
			}
		}
	}
}

// setMoves decides what moves: what belongs to a hierarchy or is labelled, after all of its owners.
func (g *graph) setMoves() {
	waits := map[*node]int{}
	var ready []*node
	for _, n := range g.all() {
		n.wanted = len(n.tenants) > 0 || n.forceMove
		if waits[n] = len(n.owners) + len(n.softOwners); n.wanted && waits[n] == 0 {
			ready = append(ready, n)
		}
	}
	for len(ready) > 0 {
		n := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		n.moves = true
		for _, d := range n.dependents {
			if waits[d]--; d.wanted && waits[d] == 0 {
				ready = append(ready, d)
			}
		}
	}
}
