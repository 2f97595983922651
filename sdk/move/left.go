package move

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// checkLeftBehind finds what stays though something that moves needs it, or though it needs something that moves.
func (c *checker) checkLeftBehind(ctx context.Context) error {
	for _, m := range c.s.missing {
		c.add(Finding{
			ID: idClassMissing, Object: m.object, about: m.cluster.about(), What: fmt.Sprintf("it does not exist, and %s is made of it or of a class that names it", m.cluster),
			Fix: c.o.Source.kubectl("get", "clusterclasses."+groupCore, "-n", m.object.Namespace, "-o", "yaml"),
		})
	}
	said := map[*node]bool{}
	if err := c.checkReferences(ctx, said); err != nil {
		return err
	}
	c.checkStrangers(said)
	c.checkRest(said)
	return nil
}

// needed is an object that something names, with what names it.
type needed struct {
	to   key
	refs []reference
	// ofOthers tells that only global objects name it that move because all of their kind do, and that nothing here names, such
	// as the identity of another namespace.
	ofOthers bool
}

// needs lists what the objects that move name, in a fixed order.
func (c *checker) needs() []*needed {
	byKey := map[key]*needed{}
	named := map[key]bool{}
	var list []*needed
	for _, n := range c.s.all() {
		for _, ref := range c.s.references(n, c.home(n)) {
			named[ref.to] = true
			if !n.moves {
				continue
			}
			if byKey[ref.to] == nil {
				byKey[ref.to] = &needed{to: ref.to}
				list = append(list, byKey[ref.to])
			}
			byKey[ref.to].refs = append(byKey[ref.to].refs, ref)
		}
	}
	for _, need := range list {
		need.ofOthers = !slices.ContainsFunc(need.refs, func(r reference) bool {
			return r.from.Namespace != "" || named[key{r.from.groupKind(), "", r.from.Name}]
		})
	}
	return list
}

// home is the namespace of the provider whose kind an object is of: there an object without a namespace finds Secrets
// that it names without one.
func (c *checker) home(n *node) string {
	k := c.s.kinds[n.groupKind()]
	if k == nil {
		return ""
	}
	for _, p := range c.s.providers {
		if label := k.labels[labelProvider]; label != "" && label == p.manifest() {
			return p.namespace
		}
	}
	return ""
}

// checkReferences looks for what the objects that move name.
func (c *checker) checkReferences(ctx context.Context, said map[*node]bool) error {
	for _, need := range c.needs() {
		n := c.s.find(need.to.Group, need.to.Kind, need.to.namespace, need.to.name)
		if n != nil && n.moves {
			continue
		}
		resource, known := c.resourceOf(need.to.GroupKind)
		exists := n != nil
		if !exists && known {
			o, err := c.o.Source.Reader.Get(ctx, Query{Resource: resource, Namespace: need.to.namespace, Metadata: true}, need.to.name)
			switch {
			case forbidden(err):
				c.unreadable(resource, need.to.namespace, "get")
				continue
			case err != nil:
				return fmt.Errorf("reading %s: %w", need.to, err)
			}
			exists = o != nil
		}
		if !exists {
			if slices.ContainsFunc(c.s.missing, func(m missingClass) bool { return m.object.Kind == need.to.Kind && m.object.Name == need.to.name }) {
				continue // said above
			}
			c.missing(need, resource, known)
			continue
		}
		if n != nil {
			said[n] = true
			if n.wanted {
				continue // it would move if its owners did, and that has been said
			}
		}
		if err := c.leftBehind(ctx, need, resource); err != nil {
			return err
		}
	}
	return nil
}

// resourceOf is how the source serves a kind.
func (c *checker) resourceOf(gk schema.GroupKind) (Resource, bool) {
	if r := builtin[gk]; r != nil {
		return *r, true
	}
	if k := c.s.kinds[gk]; k != nil {
		return k.Resource, true
	}
	return Resource{Group: gk.Group, Kind: gk.Kind, Plural: strings.ToLower(gk.Kind)}, false
}

// String is the object's kind and name.
func (k key) String() string { return k.object("").String() }

func (k key) object(apiVersion string) Object {
	return Object{APIVersion: apiVersion, Kind: k.Kind, Namespace: k.namespace, Name: k.name}
}

// by says what names something: the first field, and how many more there are.
func (n *needed) by() string {
	s := fmt.Sprintf("%s names it in %s", n.refs[0].from, n.refs[0].path)
	if more := len(n.refs) - 1; more > 0 {
		s += fmt.Sprintf(", and %d more", more)
	}
	return s
}

func (n *needed) about() []*node {
	list := make([]*node, 0, len(n.refs))
	for _, r := range n.refs {
		list = append(list, r.from)
	}
	return list
}

// missing is about something that the source lacks.
func (c *checker) missing(need *needed, resource Resource, known bool) {
	if !slices.ContainsFunc(need.refs, func(r reference) bool { return !r.optional }) {
		return
	}
	f := Finding{ID: idReferenceMissing, Object: need.to.object(""), about: need.about(), What: "it does not exist; " + need.by(), Severity: SeverityInfo}
	if slices.ContainsFunc(need.refs, func(r reference) bool { return r.named && !r.optional }) {
		f.Severity = SeverityWarning
	}
	from := need.refs[0].from
	f.Fix = c.o.Source.get(from)
	if known {
		f.Object.APIVersion = resource.APIVersion()
	} else {
		f.What = "there is no such kind; " + need.by()
	}
	c.add(f)
}

// leftBehind is about something that the source has and that does not move.
func (c *checker) leftBehind(ctx context.Context, need *needed, resource Resource) error {
	f := Finding{ID: idObjectLeftBehind, Object: need.to.object(resource.APIVersion()), about: need.about(), What: need.by()}
	switch {
	case need.to.GroupKind == schema.GroupKind{Kind: "Secret"}:
		f.ID = idSecretLeftBehind
	case need.to.GroupKind == schema.GroupKind{Kind: "ConfigMap"}:
		f.ID = idConfigMapLeftBehind
	case need.refs[0].identity():
		f.ID = idIdentityLeftBehind
	}
	f.Severity = SeverityWarning
	f.Fix = c.fixLeft(resource, need.to.namespace, need.to.name)
	if need.ofOthers {
		f.Severity = SeverityInfo
		f.What += "; nothing here names that one"
		c.add(f)
		return nil
	}
	if c.t != nil {
		there, err := c.t.exists(ctx, resource, need.to.namespace, need.to.name)
		switch {
		case forbidden(err):
			f.What += "; you may not look whether the target has one"
		case err != nil:
			return err
		case there:
			f.Severity = SeverityInfo
			f.What += "; the target has one of that name, whose content was not compared"
			f.Fix = c.o.Target.kubectl(on([]string{"get"}, resource, need.to.namespace, need.to.name)...)
		default:
			f.Severity = SeverityError
			f.What += "; the target has none"
		}
	}
	c.add(f)
	return nil
}

// fixLeft makes something travel, or copies it. In the namespace that moves a label is enough, but elsewhere it would
// delete what others use.
func (c *checker) fixLeft(resource Resource, namespace, name string) string {
	k := c.s.kinds[schema.GroupKind{Group: resource.Group, Kind: resource.Kind}]
	discovered := resource == secrets || resource == configMaps || k != nil && k.discovered()
	switch {
	case discovered && namespace == c.o.Namespace:
		return c.o.Source.label(resource, namespace, name, labelMove)
	case discovered && namespace == "":
		return c.o.Source.label(resource, "", name, labelMoveHierarchy)
	}
	target, missing := Access{Kubeconfig: "TARGET"}, false
	if c.t != nil {
		target, missing = *c.o.Target, c.t.lacksNamespace(namespace)
	}
	return c.o.Source.copyTo(target, missing, resource, namespace, name)
}

// checkStrangers looks at objects of kinds that clusterctl does not discover.
func (c *checker) checkStrangers(said map[*node]bool) {
	for _, n := range c.s.strangers {
		if owner := c.ownerOf(n.object); owner != nil {
			said[n] = true
			c.add(Finding{
				ID: idDependentLeftBehind, Object: n.Object, about: owner.about(), What: fmt.Sprintf("%s owns it, and clusterctl does not discover its kind", owner),
				Fix: c.o.Source.label(crds, "", n.resource.Plural+"."+n.resource.Group, labelClusterctl),
			})
			continue
		}
		for _, ref := range c.s.references(n, "") {
			to := c.s.find(ref.to.Group, ref.to.Kind, ref.to.namespace, ref.to.name)
			if to == nil || !to.moves {
				continue
			}
			said[n] = true
			target := Access{Kubeconfig: "TARGET"}
			if c.t != nil {
				target = *c.o.Target
			}
			c.add(Finding{
				ID: idReferrerLeftBehind, Object: n.Object, about: to.about(), What: fmt.Sprintf("it names %s in %s, and clusterctl does not discover its kind", to, ref.path),
				Fix: c.o.Source.copyTo(target, false, n.resource, n.Namespace, n.Name),
			})
			break
		}
	}
}

// checkRest looks for what else belongs to a Cluster that moves and stays, and for what moves though it is elsewhere.
func (c *checker) checkRest(said map[*node]bool) {
	for _, n := range slices.Concat(c.s.all(), c.s.strangers) {
		switch {
		case n.moves:
			c.checkElsewhere(n)
		case n.virtual(), said[n], n.wanted, n.Namespace != c.o.Namespace, n.controlled(), c.ofJob(n):
		case c.cluster(n.object.GetLabels()[labelCluster]) != nil:
			cluster := c.cluster(n.object.GetLabels()[labelCluster])
			c.add(Finding{
				ID: idLabelledLeftBehind, Object: n.Object, about: cluster.about(), What: fmt.Sprintf("its label %s names %s", labelCluster, cluster),
				Fix: c.fixLeft(n.resource, n.Namespace, n.Name),
			})
		case n.resource == secrets:
			if cluster := c.namesake(n.Name); cluster != nil && len(n.owners) == 0 {
				c.add(Finding{ID: idNamedLeftBehind, Object: n.Object, about: cluster.about(), What: fmt.Sprintf("it is named after %s", cluster), Fix: c.fixLeft(n.resource, n.Namespace, n.Name)})
			}
		case n.resource == configMaps, c.s.kinds[n.groupKind()] == nil, !c.s.kinds[n.groupKind()].discovered():
		default:
			c.add(Finding{ID: idUnownedLeftBehind, Object: n.Object, What: "nothing that moves owns it or names it", Fix: c.fixLeft(n.resource, n.Namespace, n.Name)})
		}
	}
}

// controlled tells whether a controller made the object for another one, and makes it anew where that goes.
func (n *node) controlled() bool {
	return metav1.GetControllerOf(n.object) != nil
}

// ofJob tells whether a Job owns the object: it goes with the Job, and that one runs has been said.
func (c *checker) ofJob(n *node) bool {
	return slices.ContainsFunc(n.object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return slices.ContainsFunc(c.s.jobs, func(job *unstructured.Unstructured) bool { return job.GetUID() == ref.UID })
	})
}

// namesake is the Cluster whose name and a dash begin a name; of several the one with the longest name.
func (c *checker) namesake(name string) *node {
	var found *node
	for _, n := range c.clusters() {
		if strings.HasPrefix(name, n.Name+"-") && (found == nil || len(n.Name) > len(found.Name)) {
			found = n
		}
	}
	return found
}

// checkElsewhere is about what moves from another namespace.
func (c *checker) checkElsewhere(n *node) {
	if n.Namespace == "" || n.Namespace == c.o.Namespace || !n.deleted() {
		return
	}
	c.add(Finding{
		ID: idDeletedElsewhere, Object: n.Object, about: n.about(), What: fmt.Sprintf("it moves from namespace %s and is deleted there", n.Namespace),
		Fix: c.o.Source.kubectl(on([]string{"label"}, n.resource, n.Namespace, n.Name, labelMove+"-", labelMoveHierarchy+"-")...),
	})
}

func (c *checker) unreadable(r Resource, namespace, verb string) {
	f := Finding{
		ID: idUnreadable, Object: Object{APIVersion: r.APIVersion(), Kind: r.Kind, Namespace: namespace, Name: "*"},
		What: fmt.Sprintf("you may not %s %s%s", verb, r.argument(), in(namespace)),
		Fix:  c.o.Source.kubectl("auth", "can-i", verb, r.argument(), "-n", cmp.Or(namespace, "default")),
	}
	if !slices.ContainsFunc(c.findings, func(g Finding) bool { return g.ID == f.ID && g.Object == f.Object }) {
		c.add(f)
	}
}
