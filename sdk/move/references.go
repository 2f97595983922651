package move

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// reference is a field of an object that names another object.
type reference struct {
	from *node
	// path of the field, such as spec.identityRef.
	path string
	// to is what it names. Its namespace is "" if the kind has none, or if nobody can tell it.
	to key
	// named tells that the field says the kind; else the field's name tells.
	named bool
	// optional tells that the field says itself that the object may be missing.
	optional bool
}

// identity tells whether the reference is to an identity rather than to any other object.
func (r reference) identity() bool {
	return strings.Contains(strings.ToLower(r.path), "identity") || strings.HasSuffix(r.to.Kind, "Identity")
}

// Fields whose name tells the kind of what they name. Names are compared in lower case, and those of objects by their end,
// so that clientSecret and credentialsSecretRef are among them.
var (
	// secretFields hold an object with a name.
	secretFields = []string{"secret", "secretref", "secretkeyref", "secretreference", "credentialsref"}
	// secretNames hold a name.
	secretNames = []string{"secretname", "secretref", "credentialsname"}
	// configMapFields and configMapNames are the same for ConfigMaps.
	configMapFields = []string{"configmap", "configmapref", "configmapkeyref"}
	configMapNames  = []string{"configmapname"}
	// extensionNames hold the name of a handler, a dot, and the name of its ExtensionConfig.
	extensionNames = []string{"generatepatchesextension", "validatetopologyextension", "discovervariablesextension"}
	// secretLists hold a list of objects with names.
	secretLists = []string{"imagepullsecrets"}
)

// identities are the kinds that an identityRef without a kind means, by the group and the beginning of the kind that has
// it.
var identities = []struct {
	group, prefix string
	kind          schema.GroupKind
}{
	{"infrastructure.cluster.x-k8s.io", "Terraform", schema.GroupKind{Group: "infrastructure.cluster.x-k8s.io", Kind: "TerraformClusterIdentity"}},
	{"infrastructure.cluster.x-k8s.io", "OpenStack", schema.GroupKind{Kind: "Secret"}},
}

// free are fields with values of the user's own making, in which names mean nothing.
var free = []struct{ group, prefix, path string }{
	{"infrastructure.cluster.x-k8s.io", "Terraform", "spec.variables"},
	{"infrastructure.cluster.x-k8s.io", "Terraform", "spec.template.spec.variables"},
}

// walker finds the references of an object.
type walker struct {
	g *graph
	// home is where a name without a namespace is looked for.
	home string
	from *node
	refs []reference
}

// references lists what an object names, in the order of its fields. Home is the namespace of names without one, for an
// object that has none itself.
func (g *graph) references(n *node, home string) []reference {
	w := &walker{g: g, from: n, home: cmp.Or(n.Namespace, home)}
	if n.object == nil {
		return nil
	}
	spec, ok := n.object.Object["spec"].(map[string]any)
	if !ok {
		return nil
	}
	w.object("spec", "spec", spec)
	return w.refs
}

func (w *walker) object(path, field string, o map[string]any) {
	if w.free(path) {
		return
	}
	if ref, ok := w.reference(path, field, o); ok {
		w.refs = append(w.refs, ref)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		w.value(path+"."+name, name, o[name])
	}
}

func (w *walker) value(path, field string, v any) {
	switch v := v.(type) {
	case map[string]any:
		w.object(path, field, v)
	case []any:
		for i, e := range v {
			w.value(path+"["+strconv.Itoa(i)+"]", field, e)
		}
	case string:
		lower := strings.ToLower(field)
		if to, ok := w.named(lower, v); ok {
			w.refs = append(w.refs, reference{from: w.from, path: path, to: to})
		}
	}
}

func (w *walker) free(path string) bool {
	return slices.ContainsFunc(free, func(f struct{ group, prefix, path string }) bool {
		return f.path == path && f.group == w.from.groupKind().Group && strings.HasPrefix(w.from.Kind, f.prefix)
	})
}

// named reads a field that holds nothing but a name.
func (w *walker) named(field, value string) (key, bool) {
	if _, config, ok := strings.Cut(value, "."); ok && slices.Contains(extensionNames, field) {
		return key{schema.GroupKind{Group: "runtime." + groupCore, Kind: "ExtensionConfig"}, "", config}, isName(config)
	}
	kind := ""
	switch {
	case hasSuffix(field, secretNames):
		kind = "Secret"
	case hasSuffix(field, configMapNames):
		kind = "ConfigMap"
	case field == "serviceaccountname" && value != "default":
		kind = "ServiceAccount"
	}
	return key{schema.GroupKind{Kind: kind}, w.home, value}, kind != "" && w.home != "" && isName(value)
}

// reference reads an object that names another.
func (w *walker) reference(path, field string, o map[string]any) (reference, bool) {
	text := func(name string) string {
		s, _ := o[name].(string)
		return s
	}
	name := text("name")
	if !isName(name) {
		return reference{}, false
	}
	optional, _ := o["optional"].(bool)
	ref := reference{from: w.from, path: path, optional: optional}
	if kind := text("kind"); kind != "" {
		gk, ok := w.kindOf(o, kind)
		ref.named, ref.to = true, key{gk, w.namespaceOf(gk, text("namespace")), name}
		return ref, ok
	}
	lower := strings.ToLower(field)
	gk := schema.GroupKind{}
	switch {
	case field == "classRef" && w.from.is(groupCore, "Cluster"):
		gk, ref.named = schema.GroupKind{Group: groupCore, Kind: "ClusterClass"}, true
	case strings.HasSuffix(lower, "identityref"):
		for _, i := range identities {
			if i.group == w.from.groupKind().Group && strings.HasPrefix(w.from.Kind, i.prefix) {
				gk, ref.named = i.kind, true
			}
		}
	case hasSuffix(lower, secretFields), slices.Contains(secretLists, lower):
		gk.Kind = "Secret"
	case hasSuffix(lower, configMapFields):
		gk.Kind = "ConfigMap"
	}
	ref.to = key{gk, w.namespaceOf(gk, text("namespace")), name}
	return ref, gk.Kind != "" && (ref.to.namespace != "" || !w.namespaced(gk))
}

// kindOf finds the kind that a reference means by its own words. A reference to what is no part of a management cluster,
// such as a Node, is none.
func (w *walker) kindOf(o map[string]any, kind string) (schema.GroupKind, bool) {
	group, said := o["apiGroup"].(string)
	if version, ok := o["apiVersion"].(string); ok && !said {
		group, said = schema.FromAPIVersionAndKind(version, kind).Group, true
	}
	core := schema.GroupKind{Kind: kind}
	switch {
	case builtin[core] != nil && (group == "" || !said):
		return core, true
	case said:
		gk := schema.GroupKind{Group: group, Kind: kind}
		return gk, w.g.kinds[gk] != nil || group == groupCore || strings.HasSuffix(group, "."+groupCore)
	}
	own := schema.GroupKind{Group: w.from.groupKind().Group, Kind: kind}
	return own, w.g.kinds[own] != nil
}

// builtin are the kinds without a CRD that references may name.
var builtin = map[schema.GroupKind]*Resource{
	{Kind: "Secret"}: &secrets, {Kind: "ConfigMap"}: &configMaps, {Kind: "ServiceAccount"}: &serviceAccounts,
}

func (w *walker) namespaced(gk schema.GroupKind) bool {
	k := w.g.kinds[gk]
	return k == nil || k.Namespaced
}

func (w *walker) namespaceOf(gk schema.GroupKind, namespace string) string {
	if !w.namespaced(gk) {
		return ""
	}
	return cmp.Or(namespace, w.home)
}

func hasSuffix(s string, suffixes []string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(s, suffix) })
}

func isName(s string) bool { return s != "" && len(validation.IsDNS1123Subdomain(s)) == 0 }
