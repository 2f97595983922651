package fidelity

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/compare"
)

// Keys of labels and annotations that events are read from.
const (
	labelControlPlane = clusterv1.MachineControlPlaneLabel
	labelOwnerKind    = infrav1.LabelOwnerKind
	labelOwnerName    = infrav1.LabelOwnerName
	labelOperation    = infrav1.LabelOperation
	annotationHook    = controlplanev1.PreTerminateHookCleanupAnnotation
)

// Kinds of objects in events. Machines of the control plane and of workers come in an order that says something among
// themselves only, so that they are counted apart.
const (
	cluster             = "Cluster"
	controlPlane        = "KubeadmControlPlane"
	machine             = "Machine"
	terraformCluster    = "TerraformCluster"
	terraformMachine    = "TerraformMachine"
	terraformPool       = "TerraformMachinePool"
	pool                = "MachinePool"
	ofControlPlane      = "control-plane "
	ofWorker            = "worker "
	controlPlaneMachine = ofControlPlane + machine
	workerMachine       = ofWorker + machine
	controlPlaneInfra   = ofControlPlane + terraformMachine
	workerInfra         = ofWorker + terraformMachine
)

// object is an object at one time; nil when it is not there.
type object = *unstructured.Unstructured

// row reads one kind of event off an object.
type row struct {
	kinds []string
	event harness.EventType
	// source is the row of control-planes.md or contract.md that the harness plays the event by.
	source string
	// happens tells from the object before and after a write that the event happened in between.
	happens func(before, after object) bool
}

// rows are read in order: of what one write did, the harness tells the first row first.
var rows = []row{
	{[]string{machine, pool}, harness.EventCreated, "control-planes.md 2.2 #3", func(before, after object) bool { return before == nil && after != nil }},
	{[]string{machine}, harness.EventBootstrapData, "control-planes.md 2.10", turns(is("spec", "bootstrap", "dataSecretName"))},
	{[]string{pool}, harness.EventBootstrapData, "control-planes.md 2.10", turns(is("spec", "template", "spec", "bootstrap", "dataSecretName"))},
	{[]string{cluster}, harness.EventEndpointCopied, "control-planes.md 1.1 #4", turns(is("spec", "controlPlaneEndpoint", "host"))},
	{[]string{cluster, machine}, harness.EventProvisioned, "control-planes.md 1.1 #6.5", turns(is("status", "initialization", "infrastructureProvisioned"))},
	{[]string{terraformCluster, terraformMachine, terraformPool}, harness.EventProvisioned, "contract.md 14.2", turns(is("status", "initialization", "provisioned"))},
	{[]string{cluster, controlPlane}, harness.EventInitialized, "control-planes.md 2.7", turns(is("status", "initialization", "controlPlaneInitialized"))},
	{[]string{machine}, harness.EventNodeRef, "control-planes.md 1.1 #6.7", turns(is("status", "nodeRef", "name"))},
	{[]string{pool}, harness.EventNodeRef, "contract.md 11.2", func(before, after object) bool { return after != nil && members(before) != members(after) }},
	{[]string{machine}, harness.EventUnhealthy, "control-planes.md 7", turns(condition("HealthCheckSucceeded", "False"))},
	{[]string{machine}, harness.EventRemediated, "control-planes.md 7", turns(condition("OwnerRemediated", "False", clusterv1.MachineSetMachineRemediationMachineDeletingReason))},
	{[]string{machine, pool, controlPlane, terraformCluster}, harness.EventDeleted, "control-planes.md 2.5 #1, 2.9", turns(deleting)},
	{[]string{machine}, harness.EventDrained, "control-planes.md 2.5 #2", turns(drained)},
	{[]string{machine}, harness.EventPreTerminate, "control-planes.md 2.5 #4", func(before, after object) bool {
		return before != nil && after != nil && deleting(after) && hooked(before) && !hooked(after)
	}},
	{
		[]string{cluster, controlPlane, machine, pool, terraformCluster, terraformMachine, terraformPool}, harness.EventGone, "control-planes.md 2.5 #7, 2.9",
		func(before, after object) bool { return before != nil && after == nil },
	},
}

// runRows read the runs of modules off the Jobs of an object.
var runRows = []row{
	{[]string{terraformCluster, terraformMachine, terraformPool}, harness.EventRunStarted, "contract.md 14.5", func(before, after object) bool { return before == nil && after != nil }},
	{[]string{terraformCluster, terraformMachine, terraformPool}, harness.EventRunEnded, "contract.md 14.5", turns(condition("Complete", "True"))},
	{[]string{terraformCluster, terraformMachine, terraformPool}, harness.EventRunFailed, "contract.md 14.5", turns(condition("Failed", "True"))},
}

// turns tells that something turns true.
func turns(is func(object) bool) func(before, after object) bool {
	return func(before, after object) bool { return after != nil && is(after) && (before == nil || !is(before)) }
}

// is tells that a field has a value that is not the zero value.
func is(path ...string) func(object) bool {
	return func(o object) bool {
		value, found, err := unstructured.NestedFieldNoCopy(o.Object, path...)
		return found && err == nil && value != "" && value != false
	}
}

func deleting(o object) bool { return is("metadata", "deletionTimestamp")(o) }

func hooked(o object) bool { _, ok := o.GetAnnotations()[annotationHook]; return ok }

// condition tells that a condition has a status, and one of some reasons if any are given.
func condition(name, status string, reasons ...string) func(object) bool {
	return func(o object) bool {
		all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		return slices.ContainsFunc(all, func(c any) bool {
			is, ok := c.(map[string]any)
			reason, _ := is["reason"].(string)
			return ok && is["type"] == name && is["status"] == status && (len(reasons) == 0 || slices.Contains(reasons, reason))
		})
	}
}

// drained tells that the draining of a Machine's Node began and is over.
func drained(o object) bool {
	return is("status", "deletion", "nodeDrainStartTime")(o) && !condition("Deleting", "True", clusterv1.MachineDeletingDrainingNodeReason)(o)
}

// members is how many Nodes of a pool were found.
func members(o object) int {
	if o == nil {
		return 0
	}
	refs, _, _ := unstructured.NestedSlice(o.Object, "status", "nodeRefs")
	return len(refs)
}

// Step is an event with the name of its object, as it was seen.
type Step struct {
	compare.Event

	// Name is the object's.
	Name string `json:"name"`
	// Revision is that of etcd.
	Revision uint64 `json:"revision"`
}

// Project puts what was seen into the vocabulary of the harness. What happened aside is left out: see [Recorder.Aside].
func Project(seen []Sighting) []Step {
	p := &projection{now: map[string]object{}, number: map[string]int{}, count: map[string]int{}, controlPlane: map[string]bool{}}
	for _, s := range begun(seen) {
		p.add(s)
	}
	return p.steps
}

// begun leaves out Jobs that were withdrawn because they could not start: those of machines and pools give way to a run of their
// cluster (contract.md 14.5), and are made anew after it. The harness has no pods that wait.
func begun(seen []Sighting) []Sighting {
	dropped := make([]bool, len(seen))
	of := map[string][]int{} // the sightings of a Job since it was made
	for i, s := range seen {
		if s.object().GetKind() != "Job" {
			continue
		}
		of[s.key()] = append(of[s.key()], i)
		if is("spec", "suspend")(s.object()) {
			for _, n := range of[s.key()] {
				dropped[n] = true
			}
		}
		dropped[i] = dropped[of[s.key()][0]]
		if s.Gone {
			delete(of, s.key())
		}
	}
	var out []Sighting
	for i, s := range seen {
		if !dropped[i] {
			out = append(out, s)
		}
	}
	return out
}

// Trace leaves out the names.
func Trace(steps []Step) compare.Trace {
	out := make(compare.Trace, 0, len(steps))
	for _, s := range steps {
		out = append(out, s.Event)
	}
	return out
}

type projection struct {
	now           map[string]object
	number, count map[string]int
	// controlPlane are the names of TerraformMachines with the control-plane label.
	controlPlane map[string]bool
	aside        bool
	steps        []Step
}

func (p *projection) add(s Sighting) {
	before, after := p.now[s.key()], s.object()
	kind, name := after.GetKind(), after.GetName()
	if _, ok := after.GetLabels()[labelControlPlane]; ok && kind == terraformMachine {
		p.controlPlane[name] = true
	}
	if s.Gone {
		after = nil
	}
	p.now[s.key()] = after
	switch kind {
	case aside:
		p.aside = !s.Gone
		return
	case "Job":
		p.run(before, s)
		return
	}
	apart := kind
	switch _, ok := s.object().GetLabels()[labelControlPlane]; {
	case kind != machine && kind != terraformMachine:
	case ok:
		apart = ofControlPlane + kind
	default:
		apart = ofWorker + kind
	}
	for _, r := range rows {
		if slices.Contains(r.kinds, kind) && r.happens(before, after) {
			p.tell(r.event, apart, name, "", s.Revision)
		}
	}
}

// run tells of the run that a Job is.
func (p *projection) run(before object, s Sighting) {
	labels := s.object().GetLabels()
	kind, name, op := labels[labelOwnerKind], labels[labelOwnerName], infrav1.Operation(labels[labelOperation])
	if s.Gone || op != infrav1.OperationApply && op != infrav1.OperationDestroy {
		return // the harness tells of no other runs; see Unseen
	}
	apart := kind
	if kind == terraformMachine {
		apart = map[bool]string{true: ofControlPlane, false: ofWorker}[p.controlPlane[name]] + kind
	}
	for _, r := range runRows {
		if !r.happens(before, s.object()) {
			continue
		}
		told := harness.Op(op)
		if r.event == harness.EventRunStarted {
			told = "" // as the harness tells it
		}
		p.tell(r.event, apart, name, told, s.Revision)
	}
}

func (p *projection) tell(t harness.EventType, kind, name string, op harness.Op, revision uint64) {
	n, known := p.number[kind+"/"+name]
	if !known {
		p.count[kind]++
		n = p.count[kind]
		p.number[kind+"/"+name] = n
	}
	if p.aside {
		return
	}
	p.steps = append(p.steps, Step{Event: compare.Event{Type: t, Kind: kind, N: n, Op: op}, Name: name, Revision: revision})
}
