package move

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
)

// target is what was read of the target.
type target struct {
	Access
	kinds     map[schema.GroupKind]*kind
	providers []provider
	// namespaces are the metadata of all namespaces by name.
	namespaces map[string]*unstructured.Unstructured
}

func readTarget(ctx context.Context, o Options) (*target, error) {
	t := &target{Access: *o.Target, namespaces: map[string]*unstructured.Unstructured{}}
	var err error
	if t.kinds, err = readKinds(ctx, t.Reader); err != nil {
		return nil, err
	}
	if t.providers, err = readProviders(ctx, t.Reader, t.kinds); err != nil {
		return nil, err
	}
	list, err := all(ctx, t.Reader, Query{Resource: namespaces, Metadata: true})
	if err != nil {
		return nil, err
	}
	for _, ns := range list {
		t.namespaces[ns.GetName()] = ns
	}
	return t, nil
}

// exists tells whether the target has an object.
func (t *target) exists(ctx context.Context, r Resource, namespace, name string) (bool, error) {
	r, served := t.resource(r)
	if !served {
		return false, nil
	}
	o, err := t.get(ctx, Query{Resource: r, Namespace: namespace, Metadata: true}, name)
	return o != nil, err
}

func (t *target) get(ctx context.Context, q Query, name string) (*unstructured.Unstructured, error) {
	o, err := t.Reader.Get(ctx, q, name)
	if err != nil {
		return nil, fmt.Errorf("reading %s of the target: %w", Object{Kind: q.Resource.Kind, Namespace: q.Namespace, Name: name}, err)
	}
	return o, nil
}

func (t *target) lacksNamespace(name string) bool { return t.namespaces[name] == nil }

// manifest is how the label of a provider's objects names it.
func (p provider) manifest() string {
	for _, k := range providerKinds {
		if k.kind == p.kind {
			return k.prefix + p.name
		}
	}
	return p.name
}

// providerKinds are the types of providers, how labels begin that name them, and clusterctl's flags.
var providerKinds = []struct{ kind, prefix, flag string }{
	{"CoreProvider", "", "--core"},
	{"BootstrapProvider", "bootstrap-", "--bootstrap"},
	{"ControlPlaneProvider", "control-plane-", "--control-plane"},
	{infrastructureProvider, "infrastructure-", "--infrastructure"},
	{"IPAMProvider", "ipam-", "--ipam"},
	{"RuntimeExtensionProvider", "runtime-extension-", "--runtime-extension"},
	{"AddonProvider", "addon-", "--addon"},
}

func (p provider) flag() string {
	for _, k := range providerKinds {
		if k.kind == p.kind {
			return k.flag
		}
	}
	return "--infrastructure"
}

func (p provider) object() Object {
	return Object{APIVersion: groupInventory + "/v1alpha3", Kind: "Provider", Namespace: p.namespace, Name: p.manifest()}
}

// checkTarget finds what the target lacks.
func (c *checker) checkTarget(ctx context.Context) error {
	if c.t == nil {
		c.add(Finding{
			ID: idTargetUnchecked, Object: Object{APIVersion: "v1", Kind: "Namespace", Name: c.o.Namespace}, Side: SideTarget,
			What: "no target was given: only the source was looked at", Fix: c.o.again("--to-kubeconfig", "TARGET"),
		})
		return nil
	}
	core := c.t.kinds[schema.GroupKind{Group: groupCore, Kind: "Cluster"}]
	if core == nil || core.stored != contract {
		f := Finding{
			ID: idTargetNotInitialized, Object: Object{APIVersion: crds.APIVersion(), Kind: crds.Kind, Name: "clusters." + groupCore}, Side: SideTarget,
			What: "there is no Cluster API", Fix: c.o.Target.clusterctl(append([]string{"init"}, initFlags(c.s.providers)...)...),
		}
		if core != nil {
			f.What, f.Fix = "Clusters are stored as "+core.stored+", and this clusterctl wants "+contract, c.o.Target.clusterctl("upgrade", "plan")
		}
		c.add(f)
		return nil
	}
	c.checkProviders()
	c.checkKinds()
	return c.checkExisting(ctx)
}

// sameCluster tells whether both sides are one cluster, by what no two have in common.
func (c *checker) sameCluster(ctx context.Context) (bool, error) {
	q := Query{Resource: namespaces, Metadata: true}
	ours, err := c.o.Source.Reader.Get(ctx, q, "kube-system")
	if err != nil {
		return false, fmt.Errorf("reading Namespace kube-system of the source: %w", err)
	}
	theirs := c.t.namespaces["kube-system"]
	if ours == nil || theirs == nil || ours.GetUID() != theirs.GetUID() {
		return false, nil
	}
	c.add(Finding{
		ID: idSameCluster, Object: Object{APIVersion: "v1", Kind: "Namespace", Name: "kube-system"}, Side: SideTarget,
		What: "the namespace kube-system has the same UID in both", Fix: c.o.Target.kubectl("config", "current-context"),
	})
	return true, nil
}

func initFlags(providers []provider) []string {
	var flags []string
	for _, p := range providers {
		flags = append(flags, p.flag(), p.name+":"+p.version)
	}
	return flags
}

// checkProviders compares the inventories as clusterctl does.
func (c *checker) checkProviders() {
	for _, p := range c.s.providers {
		ours, err := version.ParseSemantic(p.version)
		if err != nil {
			c.badVersion(p, SideSource, c.o.Source)
			continue
		}
		var newest *version.Version
		unreadable := false
		for _, q := range c.t.providers {
			if q.kind != p.kind || q.name != p.name {
				continue
			}
			theirs, err := version.ParseSemantic(q.version)
			if err != nil {
				c.badVersion(q, SideTarget, *c.o.Target)
				unreadable = true
				continue
			}
			if newest == nil || newest.LessThan(theirs) {
				newest = theirs
			}
		}
		add := func(id, what, fix string) {
			c.add(Finding{ID: id, Object: p.object(), Side: SideTarget, What: what, Fix: fix})
		}
		switch {
		case newest == nil && unreadable:
		case newest == nil:
			add(idProviderMissing, fmt.Sprintf("the source has v%s, the target none", ours), c.o.Target.clusterctl("init", p.flag(), p.name+":"+p.version))
		case newest.LessThan(ours):
			add(idProviderOlder, fmt.Sprintf("the source has v%s, the target v%s", ours, newest), c.o.Target.clusterctl("upgrade", "apply", p.flag(), p.name+":"+p.version))
		case ours.LessThan(newest):
			add(idProviderNewer, fmt.Sprintf("the source has v%s, the target v%s", ours, newest), c.o.Source.clusterctl("upgrade", "plan"))
		}
	}
}

func (c *checker) badVersion(p provider, side Side, at Access) {
	c.add(Finding{
		ID: idProviderVersion, Object: p.object(), Side: side, What: fmt.Sprintf("its version is %q", p.version),
		Fix: at.kubectl("get", "providers."+groupInventory, "-n", p.namespace, "-o", "yaml"),
	})
}

// checkKinds compares the CRDs of the kinds that move.
func (c *checker) checkKinds() {
	moving := map[*kind]*node{}
	for _, n := range c.s.all() {
		if k := c.s.kinds[n.groupKind()]; k != nil && n.moves && moving[k] == nil {
			moving[k] = n
		}
	}
	for _, k := range c.s.sortedKinds() {
		example := moving[k]
		if example == nil {
			continue
		}
		name := k.Plural + "." + k.Group
		add := func(id string, severity Severity, what, fix string) {
			c.add(Finding{ID: id, Severity: severity, Object: Object{APIVersion: crds.APIVersion(), Kind: crds.Kind, Name: name}, Side: SideTarget, What: what, Fix: fix})
		}
		get := c.o.Target.kubectl("get", "crd", name, "-o", "yaml")
		theirs := c.t.kinds[schema.GroupKind{Group: k.Group, Kind: k.Kind}]
		if theirs == nil {
			fix := get
			for _, p := range c.s.providers {
				if p.manifest() == k.labels[labelProvider] {
					fix = c.o.Target.clusterctl("init", p.flag(), p.name+":"+p.version)
				}
			}
			add(idCRDMissing, "", fmt.Sprintf("there is no such CRD, and %s moves", example), fix)
			continue
		}
		if !slices.Contains(theirs.served, k.stored) {
			add(idVersionNotServed, "", fmt.Sprintf("the source stores %s, the target serves %s", k.stored, listed(theirs.served)), c.o.Target.clusterctl("upgrade", "plan"))
		}
		ours := contracts(k)
		lacking := slices.DeleteFunc(slices.Clone(ours), func(l string) bool { return theirs.labels[l] != "" })
		switch {
		case len(lacking) == 0:
		case len(lacking) == len(ours):
			add(idContractMissing, SeverityError, "it lacks the labels "+listed(lacking), c.o.Target.clusterctl("upgrade", "plan"))
		default:
			add(idContractMissing, SeverityWarning, "it lacks the labels "+listed(lacking)+" and has others", c.o.Target.clusterctl("upgrade", "plan"))
		}
	}
}

// contracts are the labels of a CRD that say which of its versions follow which contract.
func contracts(k *kind) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for l := range k.labels {
			if rest, ok := strings.CutPrefix(l, labelContract); ok && len(rest) > 1 && rest[0] == 'v' && rest[1] >= '0' && rest[1] <= '9' && !yield(l) {
				return
			}
		}
	})
}

// checkNamespaces looks at the namespaces that objects move to.
func (c *checker) checkNamespaces(ctx context.Context) error {
	ours, err := c.o.Source.Reader.Get(ctx, Query{Resource: namespaces, Metadata: true}, c.o.Namespace)
	switch {
	case forbidden(err):
		c.unreadable(namespaces, "", "get")
	case err != nil:
		return fmt.Errorf("reading Namespace %s of the source: %w", c.o.Namespace, err)
	}
	add := func(id string, side Side, name, what, fix string) {
		c.add(Finding{ID: id, Object: Object{APIVersion: "v1", Kind: "Namespace", Name: name}, Side: side, What: what, Fix: fix})
	}
	if ours != nil && ours.GetDeletionTimestamp() != nil {
		add(idNamespaceDeleting, SideSource, c.o.Namespace, "it is being deleted", c.o.Source.kubectl("get", "namespace", c.o.Namespace, "-o", "yaml"))
	}
	if c.t == nil {
		return nil
	}
	names := map[string]bool{}
	for _, n := range c.s.all() {
		if n.moves && n.Namespace != "" {
			names[n.Namespace] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		theirs := c.t.namespaces[name]
		switch {
		case theirs == nil:
			add(idNamespaceMissing, SideTarget, name, "there is none", c.o.Target.kubectl("create", "namespace", name))
		case theirs.GetDeletionTimestamp() != nil:
			add(idNamespaceDeleting, SideTarget, name, "it is being deleted", c.o.Target.kubectl("wait", "namespace", name, "--for=delete", "--timeout=10m"))
			continue
		}
		if name != c.o.Namespace || ours == nil {
			continue
		}
		var lacking []string
		for l, value := range ours.GetLabels() {
			if theirs != nil && theirs.GetLabels()[l] == value || strings.HasPrefix(l, "kubernetes.io/metadata.") {
				continue
			}
			lacking = append(lacking, l+"="+value)
		}
		if slices.Sort(lacking); len(lacking) > 0 {
			fix := c.o.Target.kubectl(append([]string{"label", "--overwrite", "namespace", name}, lacking...)...)
			if theirs == nil {
				fix = c.o.Target.ensure(name) + " && " + fix
			}
			add(idNamespaceLabels, SideTarget, name, "it lacks "+listed(lacking), fix)
		}
	}
	return nil
}

// checkExisting finds objects of the same names at the target.
func (c *checker) checkExisting(ctx context.Context) error {
	found, lacks := map[schema.GroupKind][]*node{}, map[*node]bool{}
	var clusters []*node
	for _, group := range c.groups() {
		there, err := c.namesThere(ctx, group)
		if err != nil {
			return err
		}
		for _, n := range group {
			switch {
			case !there[n.Name]:
				for cluster := range n.tenants {
					lacks[cluster] = true
				}
			case n.global:
				if err := c.compareGlobal(ctx, n); err != nil {
					return err
				}
			case n.globalHierarchy:
			case n.is(groupCore, "Cluster"):
				clusters = append(clusters, n)
			default:
				found[n.groupKind()] = append(found[n.groupKind()], n)
			}
		}
	}
	for _, n := range clusters {
		if err := c.clusterOnTarget(ctx, n, !lacks[n]); err != nil {
			return err
		}
	}
	for _, list := range found {
		first := list[0]
		f := Finding{ID: idObjectOnTarget, Object: first.Object, Side: SideTarget, about: list, What: "there is one of that name", Fix: c.o.Target.get(first)}
		if len(list) > 1 {
			f.What = fmt.Sprintf("there is one of that name, and %d more of the kind", len(list)-1)
		}
		c.add(f)
	}
	return nil
}

// groups are the objects that move by kind and namespace, each of which is one list at the target.
func (c *checker) groups() [][]*node {
	var groups [][]*node
	for _, n := range c.s.all() { // by kind and namespace
		if !n.moves {
			continue
		}
		if last := len(groups) - 1; last >= 0 && groups[last][0].resource == n.resource && groups[last][0].Namespace == n.Namespace {
			groups[last] = append(groups[last], n)
			continue
		}
		groups = append(groups, []*node{n})
	}
	return groups
}

// namesThere are the names of the target's objects of a kind, if the target has it.
func (c *checker) namesThere(ctx context.Context, group []*node) (map[string]bool, error) {
	there := map[string]bool{}
	r, ok := c.t.resource(group[0].resource)
	if !ok || group[0].Namespace != "" && c.t.lacksNamespace(group[0].Namespace) {
		return there, nil
	}
	list, err := all(ctx, c.t.Reader, Query{Resource: r, Namespace: group[0].Namespace, Metadata: true})
	for _, o := range list {
		there[o.GetName()] = true
	}
	return there, err
}

// resource is how the target serves a resource of the source.
func (t *target) resource(r Resource) (Resource, bool) {
	gk := schema.GroupKind{Group: r.Group, Kind: r.Kind}
	if builtin[gk] != nil {
		return r, true
	}
	k := t.kinds[gk]
	if k == nil {
		return r, false
	}
	return k.Resource, true
}

// compareGlobal is about an object without a namespace that the target has too.
func (c *checker) compareGlobal(ctx context.Context, n *node) error {
	r, _ := c.t.resource(n.resource)
	if !slices.Contains(c.t.kinds[n.groupKind()].served, n.resource.Version) {
		return nil // said by its CRD
	}
	r.Version = n.resource.Version
	o, err := c.t.get(ctx, Query{Resource: r}, n.Name)
	if err != nil || o == nil || reflect.DeepEqual(o.Object["spec"], n.object.Object["spec"]) {
		return err
	}
	c.add(Finding{ID: idGlobalDiffers, Object: n.Object, Side: SideTarget, about: n.about(), What: "its spec is another than the source's", Fix: c.o.Target.get(n)})
	return nil
}

// clusterOnTarget is about a Cluster that the target has too. It is complete if the target has all that would move of it.
func (c *checker) clusterOnTarget(ctx context.Context, n *node, complete bool) error {
	r, _ := c.t.resource(n.resource)
	o, err := c.t.get(ctx, Query{Resource: r, Namespace: n.Namespace}, n.Name)
	if err != nil || o == nil {
		return err
	}
	f := Finding{ID: idClusterOnTarget, Severity: SeverityError, Object: n.Object, Side: SideTarget, about: n.about(), What: "there is a Cluster of that name, and it is not paused", Fix: c.o.Target.get(n)}
	paused := truth(n.object, "spec", "paused")
	switch {
	case !truth(o, "spec", "paused") && paused:
		f.What += "; the source's is: the two must not run at once"
		c.keepPaused(n)
	case !truth(o, "spec", "paused"):
	default:
		f.Severity, f.What = SeverityWarning, "there is a Cluster of that name, paused as an interrupted move leaves it"
		if !paused || !complete {
			break
		}
		alone, err := c.onTargetAlone(ctx, n)
		if err != nil {
			return err
		}
		if len(alone) > 0 {
			f.ID, f.Severity = idInterrupted, SeverityError
			f.What = fmt.Sprintf("it is paused here and at the source, and the target alone has %s", listed(alone))
			f.Fix = c.o.Target.merge(n, `{"spec":{"paused":null}}`)
			c.keepPaused(n)
		}
	}
	c.add(f)
	return nil
}

// keepPaused takes back that a Cluster of the source is to be unpaused.
func (c *checker) keepPaused(n *node) {
	c.findings = slices.DeleteFunc(c.findings, func(f Finding) bool { return f.ID == idClusterPaused && f.Object == n.Object })
}

// onTargetAlone are the objects of a Cluster, by its label, that the target has and the source has not.
func (c *checker) onTargetAlone(ctx context.Context, cluster *node) ([]string, error) {
	resources := []Resource{secrets}
	for _, k := range slices.SortedFunc(maps.Values(c.t.kinds), func(a, b *kind) int { return compareText(a.argument(), b.argument()) }) {
		if k.discovered() && k.Namespaced {
			resources = append(resources, k.Resource)
		}
	}
	var alone []string
	for _, r := range resources {
		list, err := all(ctx, c.t.Reader, Query{Resource: r, Namespace: cluster.Namespace, Metadata: true})
		if err != nil {
			return nil, fmt.Errorf("reading the target: %w", err)
		}
		for _, o := range list {
			if o.GetLabels()[labelCluster] == cluster.Name && c.s.find(r.Group, r.Kind, o.GetNamespace(), o.GetName()) == nil {
				alone = append(alone, r.Kind+" "+o.GetName())
			}
		}
	}
	return alone, nil
}
