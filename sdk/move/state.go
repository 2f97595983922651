package move

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/captf-toolkit/captf/sdk/report"
)

// What the provider of this project, and the Terraform backend that it stores state like, put on their objects. A test
// holds them against provider/api, which knows the source of truth.
const (
	groupInfrastructure = "infrastructure.cluster.x-k8s.io"
	labelPlanPhase      = "captf.io/plan-phase"
	labelOwnerKind      = "captf.infrastructure.cluster.x-k8s.io/owner-kind"
	labelOwnerName      = "captf.infrastructure.cluster.x-k8s.io/owner-name"
	lockPrefix          = "lock-tfstate-"
)

// finalPlans are the phases of plans that are over.
var finalPlans = []string{"Applied", "Superseded", "Failed"}

// checkState finds what keeps clusterctl from starting, or what it should not be started in the middle of.
func (c *checker) checkState() {
	clusters := c.clusters()
	if len(clusters) == 0 {
		f := Finding{
			ID: idNothingToMove, Object: Object{APIVersion: "v1", Kind: "Namespace", Name: c.o.Namespace},
			What: "there is no Cluster in namespace " + c.o.Namespace, Fix: c.o.Source.kubectl("get", "clusters."+groupCore, "-A"),
		}
		if others := namespacesOf(c.s.others); len(others) > 0 {
			f.What += "; there are some in " + listed(others)
		}
		c.add(f)
	}
	for _, n := range clusters {
		c.checkCluster(n)
	}
	for _, n := range c.s.of("ClusterClass") {
		if !n.virtual() && annotated(n, annotationPaused) {
			c.add(Finding{ID: idClassPaused, Object: n.Object, about: n.about(), What: "the ClusterClass is paused by its annotation", Fix: c.o.Source.unannotate(n, annotationPaused)})
		}
	}
	for _, n := range c.s.of("Machine") {
		if n.virtual() || field(n.object, "status", "nodeRef", "name") != "" {
			continue
		}
		c.add(Finding{
			ID: idMachineWithoutNode, Object: n.Object, about: n.about(), What: "status.nodeRef is not set" + phase(n.object),
			Fix: c.o.Source.kubectl(on([]string{"describe"}, n.resource, n.Namespace, n.Name)...),
		})
	}
	for _, n := range c.s.all() {
		if n.moves {
			c.checkMoving(n)
		}
	}
	c.checkJobs()
	c.checkLocks()
}

// initialized tells whether clusterctl finds anything at all.
func (c *checker) initialized() bool {
	k := c.s.kinds[schema.GroupKind{Group: groupCore, Kind: "Cluster"}]
	f := Finding{
		ID: idSourceNotInitialized, Object: Object{APIVersion: crds.APIVersion(), Kind: crds.Kind, Name: "clusters." + groupCore},
		Fix: c.o.Source.kubectl("get", "crd", "-l", labelClusterctl),
	}
	switch {
	case k == nil:
		f.What = "there is no Cluster API"
	case !k.discovered():
		f.What = "Cluster API was not installed by clusterctl: its CRDs lack the label " + labelClusterctl
		f.Fix = c.o.Source.label(crds, "", "clusters."+groupCore, labelClusterctl)
	case k.stored != contract:
		f.What = "Clusters are stored as " + k.stored + ", and this clusterctl wants " + contract
		f.Fix = c.o.Source.clusterctl("upgrade", "plan")
	default:
		return true
	}
	c.add(f)
	return false
}

func (c *checker) checkCluster(n *node) {
	o := n.object
	add := func(id, what, fix string) {
		c.add(Finding{ID: id, Object: n.Object, about: n.about(), What: what, Fix: fix})
	}
	describe := c.o.Source.clusterctl("describe", "cluster", n.Name, "-n", n.Namespace)
	if truth(o, "spec", "paused") {
		add(idClusterPaused, "spec.paused is true", c.o.Source.merge(n, `{"spec":{"paused":false}}`))
	}
	if annotated(n, annotationPaused) {
		add(idClusterPaused, "it carries the annotation "+annotationPaused, c.o.Source.unannotate(n, annotationPaused))
	}
	status, message := condition(o, "ControlPlaneInitialized")
	_, managed, _ := unstructured.NestedMap(o.Object, "spec", "controlPlaneRef")
	switch {
	case !truth(o, "status", "initialization", "infrastructureProvisioned"):
		_, message := condition(o, "InfrastructureReady")
		add(idInfrastructure, "status.initialization.infrastructureProvisioned is not true"+saying(message), describe)
	case status != "True":
		add(idControlPlane, "the condition ControlPlaneInitialized is not True"+saying(message), describe)
	case managed && !truth(o, "status", "initialization", "controlPlaneInitialized"):
		add(idControlPlane, "status.initialization.controlPlaneInitialized is not true", describe)
	}
	for _, name := range []string{"RollingOut", "ScalingUp", "ScalingDown"} {
		if status, message := condition(o, name); status == "True" {
			add(idRollout, "the condition "+name+" is True"+saying(message), describe)
			break
		}
	}
}

// checkMoving looks at any object that moves.
func (c *checker) checkMoving(n *node) {
	add := func(id, what, fix string) {
		c.add(Finding{ID: id, Object: n.Object, about: n.about(), What: what, Fix: fix})
	}
	if at := n.object.GetDeletionTimestamp(); at != nil {
		add(idDeleting, "it has been deleting since "+at.UTC().Format("2006-01-02T15:04:05Z"), c.o.Source.kubectl(on([]string{"wait"}, n.resource, n.Namespace, n.Name, "--for=delete", "--timeout=10m")...))
	}
	if annotated(n, annotationBlock) {
		add(idBlocked, "its controller is at work and keeps it from moving", c.o.Source.kubectl(on([]string{"get"}, n.resource, n.Namespace, n.Name, "--watch", "-o", `custom-columns=ANNOTATIONS:.metadata.annotations`)...))
	}
	core := n.is(groupCore, "Cluster") || n.is(groupCore, "ClusterClass")
	if !core && annotated(n, annotationPaused) {
		add(idObjectPaused, "it is paused by its own annotation", c.o.Source.unannotate(n, annotationPaused))
	}
	if n.is(groupInfrastructure, "TerraformPlan") {
		c.checkPlan(n)
	}
}

// checkPlan looks at a plan that is not over.
func (c *checker) checkPlan(n *node) {
	if slices.Contains(finalPlans, n.object.GetLabels()[labelPlanPhase]) {
		return
	}
	f := Finding{ID: idPlanPending, Object: n.Object, about: n.about(), What: "it waits for an approval", Fix: c.o.Source.get(n)}
	if truth(n.object, "spec", "approved") {
		f.ID, f.What = idPlanApproved, fmt.Sprintf("it is approved by %q and about to be applied", field(n.object, "spec", "approvedBy"))
		f.Fix = c.o.Source.kubectl(on([]string{"wait"}, n.resource, n.Namespace, n.Name, `--for=jsonpath={.metadata.labels.captf\.io/plan-phase}=Applied`, "--timeout=1h")...)
	}
	c.add(f)
}

// checkJobs finds Jobs that run for an object that moves.
func (c *checker) checkJobs() {
	for _, job := range c.s.jobs {
		if over(job) {
			continue
		}
		owner := c.ownerOf(job)
		if owner == nil {
			continue
		}
		c.add(Finding{
			ID: idJobRunning, Object: Object{APIVersion: jobs.APIVersion(), Kind: "Job", Namespace: job.GetNamespace(), Name: job.GetName()}, about: owner.about(),
			What: "it runs for " + owner.String(),
			Fix:  c.o.Source.kubectl(on([]string{"wait"}, jobs, job.GetNamespace(), job.GetName(), "--for=condition=Complete", "--timeout=1h")...),
		})
	}
}

// over tells whether a Job has ended.
func over(job *unstructured.Unstructured) bool {
	for _, name := range []string{"Complete", "Failed"} {
		if status, _ := condition(job, name); status == "True" {
			return true
		}
	}
	return false
}

// ownerOf is the object that moves and that an object is made for, by its owner references or by our own labels.
func (c *checker) ownerOf(o *unstructured.Unstructured) *node {
	for _, ref := range o.GetOwnerReferences() {
		if n := c.s.nodes[ref.UID]; n != nil && n.moves {
			return n
		}
	}
	if n := c.s.find(groupInfrastructure, o.GetLabels()[labelOwnerKind], o.GetNamespace(), o.GetLabels()[labelOwnerName]); n != nil && n.moves {
		return n
	}
	return nil
}

// checkLocks finds locks of Terraform states that somebody holds.
func (c *checker) checkLocks() {
	for _, lease := range c.s.leases {
		holder := field(lease, "spec", "holderIdentity")
		if !strings.HasPrefix(lease.GetName(), lockPrefix) || holder == "" {
			continue
		}
		owner := c.stateOwner(lease.GetName())
		state := c.s.find("", "Secret", lease.GetNamespace(), strings.TrimPrefix(lease.GetName(), "lock-"))
		if owner == nil && (state == nil || !state.moves) {
			continue // of a state that stays too
		}
		f := Finding{
			ID: idStateLocked, Object: Object{APIVersion: leases.APIVersion(), Kind: "Lease", Namespace: lease.GetNamespace(), Name: lease.GetName()},
			What: fmt.Sprintf("the lock is held by %q", holder),
			Fix:  c.o.Source.kubectl(on([]string{"get"}, leases, lease.GetNamespace(), lease.GetName(), "-o", "yaml")...),
		}
		if owner != nil {
			f.about = owner.about()
			f.What += ", for the state of " + owner.String()
		} else {
			f.about = state.about()
		}
		c.add(f)
	}
}

// stateOwner is the object of ours whose state a lock is for.
func (c *checker) stateOwner(lease string) *node {
	for _, n := range c.s.all() {
		if !n.moves || n.groupKind().Group != groupInfrastructure {
			continue
		}
		if suffix := field(n.object, "status", "stateSecretSuffix"); suffix != "" && strings.HasSuffix(lease, "-"+suffix) {
			return n
		}
	}
	return nil
}

// checkOwners finds objects that should move and do not, because of their owners.
func (c *checker) checkOwners() {
	for _, n := range c.s.all() {
		if n.virtual() && n.lookedUp() {
			owned := n.owned[0]
			f := Finding{
				ID: idOwnerMissing, Object: owned.Object, about: owned.about(), What: fmt.Sprintf("its owner %s %s with UID %s does not exist", n.Kind, n.Name, n.uid),
				Fix: c.o.Source.disown(owned, n),
			}
			if owned.Namespace != c.o.Namespace {
				f.What = fmt.Sprintf("its owner %s %s is of a namespace that does not move, and clusterctl looks for it all the same", n.Kind, n.Name)
				f.Fix = c.o.Source.get(owned)
			}
			c.add(f)
		}
	}
	left := map[*node]bool{}
	for _, n := range c.s.all() {
		if n.wanted && !n.moves {
			left[n] = true
		}
	}
	for _, n := range sortedNodes(left) {
		i := slices.IndexFunc(n.owners, func(owner *node) bool { return !owner.wanted })
		if i < 0 {
			continue
		}
		owner := n.owners[i]
		below := n.below(left)
		for _, b := range below {
			delete(left, b)
		}
		if owner.virtual() && owner.lookedUp() {
			continue // said above
		}
		what, fix := c.whyLeft(n, owner)
		if len(below) > 1 {
			what += fmt.Sprintf("; %d more objects that it owns stay with it", len(below)-1)
		}
		c.add(Finding{ID: idOwnerLeftBehind, Object: n.Object, about: n.about(), What: what, Fix: fix})
	}
	// What is left has only owners that are left.
	for rest := sortedNodes(left); len(rest) > 0; rest = sortedNodes(left) {
		n := rest[0]
		i := slices.IndexFunc(n.owners, func(owner *node) bool { return left[owner] })
		for _, b := range n.below(left) {
			delete(left, b)
		}
		delete(left, n)
		if i < 0 {
			continue // owned by a soft owner that stays, which has been said
		}
		c.add(Finding{
			ID: idOwnerCycle, Object: n.Object, about: n.about(), What: fmt.Sprintf("it is owned by %s, which it owns itself, directly or through others", n.owners[i]),
			Fix: c.o.Source.disown(n, n.owners[i]),
		})
	}
}

// lookedUp tells whether clusterctl reads the object by its name before it starts.
func (n *node) lookedUp() bool {
	return n.is(groupCore, "Cluster") || n.is(groupCore, "ClusterClass") || n.is(groupCore, "Machine")
}

// whyLeft says why an owner does not move, and what to do about it.
func (c *checker) whyLeft(n, owner *node) (what, fix string) {
	k := c.s.kinds[owner.groupKind()]
	switch {
	case !owner.virtual():
		return fmt.Sprintf("its owner %s does not move", owner), c.o.Source.label(owner.resource, owner.Namespace, owner.Name, labelMove)
	case k != nil && !k.discovered():
		return fmt.Sprintf("its owner %s does not move: the CRD of the kind lacks the label %s", owner, labelClusterctl), c.o.Source.label(crds, "", k.Plural+"."+k.Group, labelClusterctl)
	case k != nil:
		return fmt.Sprintf("its owner %s with UID %s does not exist", owner, owner.uid), c.o.Source.disown(n, owner)
	}
	return fmt.Sprintf("its owner %s is of a kind that never moves", owner), c.o.Source.disown(n, owner)
}

// disown takes an owner reference off an object.
func (a Access) disown(n, owner *node) string {
	for i, ref := range n.object.GetOwnerReferences() {
		if ref.UID == owner.uid {
			patch := fmt.Sprintf(`[{"op":"test","path":"/metadata/ownerReferences/%d/uid","value":%q},{"op":"remove","path":"/metadata/ownerReferences/%d"}]`, i, ref.UID, i)
			return a.kubectl(on([]string{"patch"}, n.resource, n.Namespace, n.Name, "--type", "json", "-p", patch)...)
		}
	}
	return a.get(n)
}

// below are the objects of a set that a node owns, directly or through others, and itself.
func (n *node) below(set map[*node]bool) []*node {
	var list []*node
	seen := map[*node]bool{}
	for next := []*node{n}; len(next) > 0; {
		m := next[len(next)-1]
		next = next[:len(next)-1]
		if !set[m] || seen[m] {
			continue
		}
		seen[m] = true
		list = append(list, m)
		next = append(next, m.dependents...)
	}
	return list
}

// about are the objects by which a finding about an object is given to a Cluster.
func (n *node) about() []*node { return []*node{n} }

func sortedNodes(set map[*node]bool) []*node {
	return slices.SortedFunc(maps.Keys(set), func(a, b *node) int { return a.Object.compare(b.Object) })
}

func annotated(n *node, annotation string) bool {
	_, ok := n.object.GetAnnotations()[annotation]
	return ok
}

// phase says in which phase a Machine is, for a message.
func phase(o *unstructured.Unstructured) string {
	if p := field(o, "status", "phase"); p != "" {
		return fmt.Sprintf("; it is %s", report.Line(p))
	}
	return ""
}

// saying quotes the message of a condition.
func saying(message string) string {
	if message == "" {
		return ""
	}
	return ": " + report.Line(message)
}

func namespacesOf(list []*unstructured.Unstructured) []string {
	set := map[string]bool{}
	for _, o := range list {
		set[o.GetNamespace()] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// listed joins words, at most five.
func listed(words []string) string {
	if len(words) > 5 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:5], ", "), len(words)-5)
	}
	return strings.Join(words, ", ")
}
