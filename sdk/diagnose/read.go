package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Reader reads objects of a management cluster.
type Reader interface {
	// List returns the objects of a kind in a namespace, in the version that the server prefers; the namespace is "" for
	// kinds of the whole cluster, and a selector of labels may be "". A kind that is not served is an error by
	// meta.IsNoMatchError, one that may not be read by apierrors.IsForbidden.
	List(ctx context.Context, group, kind, namespace, selector string) ([]unstructured.Unstructured, error)
}

// ErrNoCluster tells that there is no such Cluster; its message says which there are.
var ErrNoCluster = errors.New("there is no such Cluster")

// ErrSecret tells that something asked for Secrets, which are never read.
var ErrSecret = errors.New("secrets are never read")

// role is what an object is to the cluster, whatever its kind.
type role string

const (
	roleCluster           role = "cluster"
	roleClass             role = "cluster class"
	roleInfraCluster      role = "cluster infrastructure"
	roleControlPlane      role = "control plane"
	roleMachine           role = "machine"
	roleBootstrap         role = "bootstrap"
	roleInfraMachine      role = "machine infrastructure"
	roleMachineDeployment role = "machine deployment"
	roleMachineSet        role = "machine set"
	roleMachinePool       role = "machine pool"
	roleInfraPool         role = "pool infrastructure"
	roleTemplate          role = "template"
	roleHealthCheck       role = "health check"
	roleIdentity          role = "identity"
	roleJob               role = "job"
	rolePod               role = "pod"
)

// absence is why an object that is referred to was not read.
type absence string

const (
	absentMissing   absence = "does not exist"
	absentKind      absence = "is of a kind that the management cluster does not serve"
	absentForbidden absence = "may not be read"
)

// node is an object of the cluster, or one that is referred to and was not read.
type node struct {
	ref        Reference
	role       role
	obj        *unstructured.Unstructured // nil if it was not read
	absent     absence
	conditions []condition
	parent     *node
	// from is the field of the parent that refers to it, "" if it refers to the parent itself.
	from     string
	children []*node
	// identity is what it uses, which may be a child of another.
	identity *node
	// controlPlane tells that a machine, and what belongs to it, is of the control plane.
	controlPlane bool
	// position is the place in the walk through the tree.
	position int
}

// child returns the first child with a role.
func (n *node) child(r role) *node {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		if c.role == r {
			return c
		}
	}
	return nil
}

// event is what a controller said about an object.
type event struct {
	reason, note string
	warning      bool
	count        int64
	last         time.Time
}

// Objects are what was read of a cluster.
type Objects struct {
	root   *node
	nodes  []*node
	events map[string][]event // by kind/namespace/name
	unread []string
}

// walk is a walk through the objects of one cluster.
type walk struct {
	Objects
	reader    Reader
	ctx       context.Context //nolint:containedctx // the walk is one call
	namespace string
	lists     map[string]listed
	// identities are those that were added, by name.
	identities map[string]*node
}

type listed struct {
	items map[string]*unstructured.Unstructured
	names []string
	read  bool
	err   error
}

// Read collects the objects of a cluster. What may not be read is noted; any other error ends it.
func Read(ctx context.Context, r Reader, namespace, name string) (*Objects, error) {
	w := &walk{reader: r, ctx: ctx, namespace: namespace, lists: map[string]listed{}, identities: map[string]*node{}}
	clusters, err := w.all(groupCore, kindCluster, namespace, "")
	switch {
	case meta.IsNoMatchError(err):
		return nil, fmt.Errorf("reading Cluster %s/%s: Cluster API is not installed there: %w", namespace, name, err)
	case err != nil:
		return nil, fmt.Errorf("reading Cluster %s/%s: %w", namespace, name, err)
	case clusters.items[name] == nil && len(clusters.names) == 0:
		return nil, fmt.Errorf("reading Cluster %s/%s: %w: the namespace has none", namespace, name, ErrNoCluster)
	case clusters.items[name] == nil:
		return nil, fmt.Errorf("reading Cluster %s/%s: %w: there are %s", namespace, name, ErrNoCluster, strings.Join(clusters.names, ", "))
	}
	w.root = w.add(nil, roleCluster, Reference{Group: groupCore, Kind: kindCluster, Namespace: namespace, Name: name}, clusters.items[name], "")
	if err := errors.Join(w.class(), w.clusterInfrastructure(), w.members(), w.readEvents()); err != nil {
		return nil, err
	}
	w.number(w.root)
	return &w.Objects, nil
}

// all lists a kind once. Of an error, what is not served and what is forbidden are left to the caller.
func (w *walk) all(group, kind, namespace, selector string) (listed, error) {
	if group == "" && kind == "Secret" {
		return listed{}, ErrSecret
	}
	key := strings.Join([]string{group, kind, namespace, selector}, "/")
	if l, done := w.lists[key]; done {
		return l, l.err
	}
	items, err := w.reader.List(w.ctx, group, kind, namespace, selector)
	l := listed{items: map[string]*unstructured.Unstructured{}, read: err == nil, err: err}
	for i := range items {
		l.items[items[i].GetName()] = &items[i]
		l.names = append(l.names, items[i].GetName())
	}
	slices.Sort(l.names)
	if apierrors.IsForbidden(err) {
		where := " in namespace " + namespace
		if namespace == "" {
			where = ""
		}
		w.unread = append(w.unread, fmt.Sprintf("%s%s: you may not list them", Reference{Group: group, Kind: kind}.plural(), where))
	}
	w.lists[key] = l
	return l, err
}

// plural is how a role of RBAC names the kind, as far as one can guess.
func (r Reference) plural() string {
	kind := strings.ToLower(r.Kind)
	switch {
	case strings.HasSuffix(kind, "s"), strings.HasSuffix(kind, "x"):
		kind += "es"
	case strings.HasSuffix(kind, "y"):
		kind = strings.TrimSuffix(kind, "y") + "ies"
	default:
		kind += "s"
	}
	if r.Group != "" {
		kind += "." + r.Group
	}
	return kind
}

// soft tells whether the walk goes on after an error: what is not served or may not be read is part of the picture.
func soft(err error) bool {
	return err == nil || meta.IsNoMatchError(err) || apierrors.IsForbidden(err) || errors.Is(err, ErrSecret)
}

func (w *walk) add(parent *node, r role, ref Reference, obj *unstructured.Unstructured, from string) *node {
	n := &node{ref: ref, role: r, obj: obj, parent: parent, from: from, conditions: conditionsOf(obj)}
	if parent != nil {
		n.controlPlane = parent.controlPlane || parent.role == roleControlPlane
		parent.children = append(parent.children, n)
	}
	return n
}

// follow adds the object that a field of the parent refers to.
func (w *walk) follow(parent *node, r role, path ...string) (*node, error) {
	if parent == nil || parent.obj == nil {
		return nil, nil
	}
	ref, ok := referenceTo(parent.obj, path...)
	if !ok {
		return nil, nil
	}
	return w.fetch(parent, r, ref, strings.Join(path, "."))
}

// fetch adds an object by its reference.
func (w *walk) fetch(parent *node, r role, ref Reference, from string) (*node, error) {
	l, err := w.all(ref.Group, ref.Kind, ref.Namespace, "")
	if !soft(err) {
		return nil, fmt.Errorf("reading %s: %w", ref, err)
	}
	n := w.add(parent, r, ref, l.items[ref.Name], from)
	switch {
	case meta.IsNoMatchError(err), errors.Is(err, ErrSecret):
		n.absent = absentKind
	case apierrors.IsForbidden(err):
		n.absent = absentForbidden
	case n.obj == nil:
		n.absent = absentMissing
	}
	return n, nil
}

// class adds the ClusterClass of a cluster that has a topology.
func (w *walk) class() error {
	name := cmp.Or(w.root.str("spec", "topology", "classRef", "name"), w.root.str("spec", "topology", "class"))
	if name == "" {
		return nil
	}
	namespace := cmp.Or(w.root.str("spec", "topology", "classRef", "namespace"), w.root.str("spec", "topology", "classNamespace"), w.namespace)
	field := "spec.topology.classRef"
	if w.root.str("spec", "topology", "class") != "" {
		field = "spec.topology.class"
	}
	_, err := w.fetch(w.root, roleClass, Reference{Group: groupCore, Kind: kindClusterClass, Namespace: namespace, Name: name}, field)
	return err
}

func (w *walk) clusterInfrastructure() error {
	infra, err := w.follow(w.root, roleInfraCluster, "spec", "infrastructureRef")
	if err != nil {
		return err
	}
	return w.module(infra)
}

// belongs lists the objects of a kind of Cluster API that name the cluster; kinds that are not served have none.
func (w *walk) belongs(kind string) ([]*unstructured.Unstructured, error) {
	l, err := w.all(groupCore, kind, w.namespace, "")
	if !soft(err) {
		return nil, fmt.Errorf("listing %ss of Cluster %s: %w", kind, w.root.ref.Name, err)
	}
	var out []*unstructured.Unstructured
	for _, name := range l.names {
		if cluster, _, _ := unstructured.NestedString(l.items[name].Object, "spec", "clusterName"); cluster == w.root.ref.Name {
			out = append(out, l.items[name])
		}
	}
	return out, nil
}

// members adds the control plane and everything that runs in the cluster, each machine under what owns it.
func (w *walk) members() error {
	plane, err := w.follow(w.root, roleControlPlane, "spec", "controlPlaneRef")
	if err != nil {
		return err
	}
	if plane != nil {
		for _, path := range [][]string{{"spec", "machineTemplate", "spec", "infrastructureRef"}, {"spec", "machineTemplate", "infrastructureRef"}} {
			if err := w.template(plane, path...); err != nil {
				return err
			}
		}
	}
	owners := map[string]*node{}
	for _, k := range []struct {
		kind string
		role role
	}{{kindMachineDeployment, roleMachineDeployment}, {kindMachineSet, roleMachineSet}, {kindMachinePool, roleMachinePool}, {kindMachine, roleMachine}, {kindMachineHealthCheck, roleHealthCheck}} {
		objects, err := w.belongs(k.kind)
		if err != nil {
			return err
		}
		for _, obj := range objects {
			parent := w.root
			if o := ownerOf(obj, owners, plane); o != nil {
				parent = o
			}
			n := w.add(parent, k.role, Reference{Group: groupCore, Kind: k.kind, Namespace: w.namespace, Name: obj.GetName()}, obj, "")
			owners[k.kind+"/"+obj.GetName()] = n
			if _, ok := obj.GetLabels()["cluster.x-k8s.io/control-plane"]; ok && k.role == roleMachine {
				n.controlPlane = true
			}
			if err := w.parts(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownerOf finds the owner of an object among those that were read.
func ownerOf(obj *unstructured.Unstructured, owners map[string]*node, plane *node) *node {
	for _, o := range obj.GetOwnerReferences() {
		if n := owners[o.Kind+"/"+o.Name]; n != nil {
			return n
		}
		if plane != nil && o.Kind == plane.ref.Kind && o.Name == plane.ref.Name {
			return plane
		}
	}
	return nil
}

// parts adds what a machine, a set of machines or a pool refers to.
func (w *walk) parts(n *node) error {
	switch n.role {
	case roleMachine:
		_, err := w.follow(n, roleBootstrap, "spec", "bootstrap", "configRef")
		if err != nil {
			return err
		}
		infra, err := w.follow(n, roleInfraMachine, "spec", "infrastructureRef")
		if err != nil {
			return err
		}
		return w.module(infra)
	case roleMachineDeployment:
		return errors.Join(
			w.template(n, "spec", "template", "spec", "bootstrap", "configRef"),
			w.template(n, "spec", "template", "spec", "infrastructureRef"))
	case roleMachineSet:
		if n.parent.role == roleMachineDeployment {
			return nil // it has those of the deployment, or older ones
		}
		return errors.Join(
			w.template(n, "spec", "template", "spec", "bootstrap", "configRef"),
			w.template(n, "spec", "template", "spec", "infrastructureRef"))
	case roleMachinePool:
		_, err := w.follow(n, roleBootstrap, "spec", "template", "spec", "bootstrap", "configRef")
		if err != nil {
			return err
		}
		infra, err := w.follow(n, roleInfraPool, "spec", "template", "spec", "infrastructureRef")
		if err != nil {
			return err
		}
		return w.module(infra)
	}
	return nil
}

// template adds a template that machines are made of.
func (w *walk) template(parent *node, path ...string) error {
	_, err := w.follow(parent, roleTemplate, path...)
	return err
}

// number puts the nodes in the order of the walk: what comes first in a cluster's life comes first.
func (w *walk) number(n *node) {
	n.position = len(w.nodes)
	w.nodes = append(w.nodes, n)
	for _, c := range n.children {
		w.number(c)
	}
}

// key is how events name an object.
func (r Reference) key() string { return r.Kind + "/" + r.Namespace + "/" + r.Name }

// readEvents reads the events of the namespace; without them less is explained.
func (w *walk) readEvents() error {
	l, err := w.all("events.k8s.io", "Event", w.namespace, "")
	if !soft(err) {
		return fmt.Errorf("listing events in namespace %s: %w", w.namespace, err)
	}
	w.events = map[string][]event{}
	for _, name := range l.names {
		n := &node{obj: l.items[name]}
		ref := Reference{Kind: n.str("regarding", "kind"), Namespace: n.str("regarding", "namespace"), Name: n.str("regarding", "name")}
		e := event{reason: n.str("reason"), note: n.str("note"), warning: n.str("type") == "Warning", count: 1}
		for _, path := range [][]string{{"series", "lastObservedTime"}, {"deprecatedLastTimestamp"}, {"eventTime"}, {"metadata", "creationTimestamp"}} {
			if e.last = n.when(path...); !e.last.IsZero() {
				break
			}
		}
		for _, path := range [][]string{{"series", "count"}, {"deprecatedCount"}} {
			if count, ok := n.number(path...); ok && count > 0 {
				e.count = count
				break
			}
		}
		w.events[ref.key()] = append(w.events[ref.key()], e)
	}
	for _, list := range w.events {
		slices.SortStableFunc(list, func(a, b event) int { return b.last.Compare(a.last) }) // newest first
	}
	return nil
}
