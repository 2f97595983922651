package diagnose

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Groups of the kinds that are known by name.
const (
	groupCore         = "cluster.x-k8s.io"
	groupOurs         = "infrastructure.cluster.x-k8s.io"
	groupControlPlane = "controlplane.cluster.x-k8s.io"
)

// Kinds that are known by name.
const (
	kindCluster             = "Cluster"
	kindClusterClass        = "ClusterClass"
	kindMachine             = "Machine"
	kindMachineSet          = "MachineSet"
	kindMachineDeployment   = "MachineDeployment"
	kindMachinePool         = "MachinePool"
	kindMachineHealthCheck  = "MachineHealthCheck"
	kindTerraformIdentity   = "TerraformClusterIdentity"
	kindJob                 = "Job"
	kindPod                 = "Pod"
	kindKubeadmControlPlane = "KubeadmControlPlane"
)

// Reference names an object.
type Reference struct {
	// Group is the API group; "" is the core group.
	Group string `json:"group,omitempty"`
	// Kind is the kind.
	Kind string `json:"kind"`
	// Namespace is "" for objects of the whole cluster.
	Namespace string `json:"namespace,omitempty"`
	// Name is the name.
	Name string `json:"name"`
}

// String is the kind and the name, as people say it.
func (r Reference) String() string { return r.Kind + " " + r.Name }

// resource is how kubectl finds the object: the kind in lower case, with its group where another may have such a kind.
func (r Reference) resource() string {
	kind := strings.ToLower(r.Kind)
	if strings.Contains(r.Group, ".") {
		kind += "." + r.Group
	}
	return kind + "/" + r.Name
}

// referenceTo reads an object reference of either contract: with apiGroup (v1beta2) or apiVersion (v1beta1).
func referenceTo(obj *unstructured.Unstructured, path ...string) (Reference, bool) {
	m, found, err := unstructured.NestedMap(obj.Object, path...)
	if err != nil || !found {
		return Reference{}, false
	}
	group, ok := m["apiGroup"].(string)
	if !ok {
		version, _ := m["apiVersion"].(string)
		if before, _, cut := strings.Cut(version, "/"); cut {
			group = before
		}
	}
	kind, _ := m["kind"].(string)
	name, _ := m["name"].(string)
	namespace, _ := m["namespace"].(string)
	if namespace == "" {
		namespace = obj.GetNamespace()
	}
	return Reference{Group: group, Kind: kind, Namespace: namespace, Name: name}, kind != "" && name != ""
}

// condition is a condition of any of the forms that Cluster API's kinds had.
type condition struct {
	kind, status, reason, message string
	// severity is that of deprecated conditions, "" of current ones.
	severity string
	since    time.Time
	// field is where it is, such as status.conditions[Ready].
	field string
}

// said is the message, or the reason where there is none.
func (c condition) said() string {
	if c.message != "" {
		return c.message
	}
	return c.reason
}

// conditionLists are the places of conditions, the first that has any counts: those of the v1beta2 contract before they
// became status.conditions, status.conditions, and those that were there before.
var conditionLists = [][]string{
	{"status", "v1beta2", "conditions"},
	{"status", "conditions"},
	{"status", "deprecated", "v1beta1", "conditions"},
}

// conditionsOf reads the conditions of an object; what is no condition is passed over.
func conditionsOf(obj *unstructured.Unstructured) []condition {
	if obj == nil {
		return nil
	}
	for _, path := range conditionLists {
		items, found, err := unstructured.NestedSlice(obj.Object, path...)
		if err != nil || !found || len(items) == 0 {
			continue
		}
		var out []condition
		for _, item := range items {
			m, ok := item.(map[string]any)
			if !ok {
				continue
			}
			c := condition{kind: text(m["type"]), status: text(m["status"]), reason: text(m["reason"]), message: text(m["message"]), severity: text(m["severity"])}
			c.since, _ = time.Parse(time.RFC3339, text(m["lastTransitionTime"]))
			c.field = strings.Join(path, ".") + "[" + c.kind + "]"
			out = append(out, c)
		}
		return out
	}
	return nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// condition returns a condition of the node's object.
func (n *node) condition(kind string) (condition, bool) {
	for _, c := range n.conditions {
		if c.kind == kind {
			return c, true
		}
	}
	return condition{}, false
}

// str reads a string field; "" if it is not there.
func (n *node) str(path ...string) string {
	if n == nil || n.obj == nil {
		return ""
	}
	s, _, _ := unstructured.NestedString(n.obj.Object, path...)
	return s
}

// isTrue reads a boolean field; false if it is not there.
func (n *node) isTrue(path ...string) bool {
	if n == nil || n.obj == nil {
		return false
	}
	b, _, _ := unstructured.NestedBool(n.obj.Object, path...)
	return b
}

// number reads a whole number; ok is false if it is not there.
func (n *node) number(path ...string) (value int64, ok bool) {
	if n == nil || n.obj == nil {
		return 0, false
	}
	v, found, err := unstructured.NestedFieldNoCopy(n.obj.Object, path...)
	if err != nil || !found {
		return 0, false
	}
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	}
	return 0, false
}

// has tells whether there is a field.
func (n *node) has(path ...string) bool {
	if n == nil || n.obj == nil {
		return false
	}
	_, found, err := unstructured.NestedFieldNoCopy(n.obj.Object, path...)
	return err == nil && found
}

// list reads a list of objects.
func (n *node) list(path ...string) []map[string]any {
	if n == nil || n.obj == nil {
		return nil
	}
	items, _, _ := unstructured.NestedSlice(n.obj.Object, path...)
	var out []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// when reads a time.
func (n *node) when(path ...string) time.Time {
	t, _ := time.Parse(time.RFC3339, n.str(path...))
	return t
}

// provisioned tells whether an infrastructure object says that it is, by either version of the contract.
func (n *node) provisioned() bool {
	return n.isTrue("status", "initialization", "provisioned") || n.isTrue("status", "ready")
}

// bootstrapped tells whether a bootstrap config says that its data is there, by either version of the contract.
func (n *node) bootstrapped() bool {
	return n.isTrue("status", "initialization", "dataSecretCreated") || n.isTrue("status", "ready")
}

// deleting tells whether the object is being deleted.
func (n *node) deleting() bool { return n.obj != nil && n.obj.GetDeletionTimestamp() != nil }

// ours tells whether a module runs for the object.
func (n *node) ours() bool { return n.ref.Group == groupOurs && workspaceKinds[n.ref.Kind] }

// workspaceKinds are our kinds that run modules.
var workspaceKinds = map[string]bool{"TerraformCluster": true, "TerraformMachine": true, "TerraformMachinePool": true}

// age is how long ago the object was made.
func (n *node) age(now time.Time) time.Duration {
	if n.obj == nil {
		return 0
	}
	made := n.obj.GetCreationTimestamp()
	if made.IsZero() {
		return 0
	}
	return now.Sub(made.Time)
}
