package fidelity

import (
	"slices"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/compare"
)

// A Reason says why something is not compared.
type Reason string

// Unseen are the events that are left out on the side that tells them.
var Unseen = map[harness.EventType]Reason{
	harness.EventAsked:        "what is asked for is the story itself, the same on both sides",
	harness.EventNodeJoined:   "Nodes are in the workload cluster, whose revisions say nothing about those of the management cluster; node-ref follows",
	harness.EventBackend:      "the no-op modules make no load balancer: the harness plays one, and nothing real is there to be watched",
	harness.EventTokenRotated: "a token is rewritten after ten minutes, and a real life here is over by then; Play rotates none",
}

// Once are the events of which several of one object in a row count as one.
var Once = map[harness.EventType]Reason{
	harness.EventPreTerminate: "the harness tells each step of KubeadmControlPlane with etcd; the API shows when the last is done, by an annotation that goes",
	harness.EventNodeRef:      "the Nodes of a pool are found one by one or together, as they join",
}

// Late are the events that are left out of an object that is being deleted.
var Late = map[harness.EventType]Reason{
	harness.EventUnhealthy: "a MachineHealthCheck looks at Machines that are being deleted, too, and marks those whose Node or infrastructure went; nobody acts on it",
}

// Unordered are the gates and operations that no order of events between objects shows.
var Unordered = map[string]Reason{
	"kcp/control-plane-healthy":        "conditions of static pods and of etcd are no events; the Machine that comes next is",
	"captf/addresses":                  "the no-op modules emit all outputs at once, so that nobody waits for one",
	"captf/machine-pending":            "as captf/addresses",
	"captf/provider-id":                "as captf/addresses",
	"captf/pool-pending":               "as captf/addresses",
	"captf/pool-members":               "as captf/addresses",
	"captf/outputs-valid":              "the outputs of the no-op modules are valid",
	"captf/backoff":                    "no run fails in the lives that are compared",
	"captf/run-fails":                  "as captf/backoff",
	"kcp/remediation-several-machines": "control planes are not remediated in the lives that are compared, workers are",
	"kcp/remediation-nodes":            "as kcp/remediation-several-machines",
	"kcp/remediation-none-deleting":    "as kcp/remediation-several-machines",
	"kcp/remediation-etcd-readable":    "as kcp/remediation-several-machines",
	"kcp/remediation-quorum":           "as kcp/remediation-several-machines",
	"remediate":                        "as kcp/remediation-several-machines",
	"scale-down":                       "no control plane is scaled down in the lives that are compared",
	"leadership-moved":                 "leadership of etcd is no object; see Once",
	"etcd-member-removed":              "members of etcd are no objects; see Once",
}

// commonOf leaves out what is not compared.
func commonOf(life compare.Trace) compare.Trace {
	last, deleted := map[string]compare.Event{}, map[string]bool{}
	return slices.DeleteFunc(slices.Clone(life), func(e compare.Event) bool {
		if _, ok := Unseen[e.Type]; ok {
			return true
		}
		if _, ok := Late[e.Type]; ok && deleted[e.Object()] {
			return true
		}
		deleted[e.Object()] = deleted[e.Object()] || e.Type == harness.EventDeleted
		before := last[e.Object()]
		last[e.Object()] = e
		_, ok := Once[e.Type]
		return ok && before == e
	})
}
