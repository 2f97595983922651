package harness

// EventType is the kind of one line of the story. The types are the vocabulary
// in which a played life and a real one can be compared: each names something
// that can also be observed on the objects of a real management cluster, apart
// from those that say so.
type EventType string

// The kinds of event.
const (
	// EventAsked: the user changes what is asked for.
	EventAsked EventType = "asked"
	// EventReached: what was asked for is there. Only in a played life.
	EventReached EventType = "reached"
	// EventCreated: an object is created.
	EventCreated EventType = "created"
	// EventDeleted: the deletion of an object is asked for.
	EventDeleted EventType = "deleted"
	// EventGone: an object is deleted.
	EventGone EventType = "gone"
	// EventWaiting: an object waits at a gate. Only in a played life.
	EventWaiting EventType = "waiting"
	// EventPassed: an object passes a gate at which it waited. Only in a played life.
	EventPassed EventType = "passed"
	// EventRunStarted: a module run starts.
	EventRunStarted EventType = "run-started"
	// EventRunEnded: a module run ends well.
	EventRunEnded EventType = "run-ended"
	// EventRunFailed: a module run ends with an error.
	EventRunFailed EventType = "run-failed"
	// EventProvisioned: status.initialization.provisioned turns true.
	EventProvisioned EventType = "provisioned"
	// EventEndpointCopied: the Cluster gets the endpoint that the module emitted.
	EventEndpointCopied EventType = "endpoint-copied"
	// EventInitialized: the control plane counts as initialised.
	EventInitialized EventType = "initialized"
	// EventBootstrapData: the bootstrap Secret of an object exists.
	EventBootstrapData EventType = "bootstrap-data"
	// EventTokenRotated: the bootstrap Secret of a pool is rewritten.
	EventTokenRotated EventType = "token-rotated"
	// EventServers: the hosts that joining nodes may register at change.
	EventServers EventType = "servers"
	// EventNodeJoined: a Node registers.
	EventNodeJoined EventType = "node-joined"
	// EventNodeRef: Cluster API finds the Node of a Machine or pool.
	EventNodeRef EventType = "node-ref"
	// EventPreDrain: a control plane's stage before a Machine's Node is drained.
	EventPreDrain EventType = "pre-drain"
	// EventDrained: a Machine's Node is drained.
	EventDrained EventType = "drained"
	// EventPreTerminate: a control plane's stage before a Machine's infrastructure goes.
	EventPreTerminate EventType = "pre-terminate"
	// EventUnhealthy: a MachineHealthCheck marks a Machine, or an object's infrastructure is no longer well.
	EventUnhealthy EventType = "unhealthy"
	// EventRemediated: the control plane deletes a Machine that is marked.
	EventRemediated EventType = "remediated"
	// EventBackend: a backend of the load balancer goes up or down.
	EventBackend EventType = "backend"
	// EventFault: a fault is injected, or has shown an effect. Only in a played life.
	EventFault EventType = "fault"
	// EventProbed: a probe beside the story has ended. Only in a played life.
	EventProbed EventType = "probed"
	// EventStalled: nothing moves any more. Only in a played life.
	EventStalled EventType = "stalled"
	// EventEnded: the story ends early. Only in a played life.
	EventEnded EventType = "ended"
	// EventCleanUp: the harness destroys what the story left. Only in a played life.
	EventCleanUp EventType = "clean-up"
)

// EventTypes returns every kind of event.
func EventTypes() []EventType {
	return []EventType{
		EventAsked, EventReached, EventCreated, EventDeleted, EventGone, EventWaiting, EventPassed, EventRunStarted, EventRunEnded, EventRunFailed,
		EventProvisioned, EventEndpointCopied, EventInitialized, EventBootstrapData, EventTokenRotated, EventServers, EventNodeJoined, EventNodeRef,
		EventPreDrain, EventDrained, EventPreTerminate, EventUnhealthy, EventRemediated, EventBackend, EventFault, EventProbed, EventStalled, EventEnded, EventCleanUp,
	}
}

// Observable tells that the kind of event can also be observed on the objects
// of a real management cluster.
func (t EventType) Observable() bool {
	switch t {
	case EventReached, EventWaiting, EventPassed, EventFault, EventProbed, EventStalled, EventEnded, EventCleanUp:
		return false
	}
	return true
}
