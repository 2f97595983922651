package balancer

// Pattern is how machines become backends of the load balancer (control-planes.md 6).
type Pattern string

// The membership patterns.
const (
	// PatternAttachment: the machine module makes an attachment resource.
	PatternAttachment Pattern = "A"
	// PatternSelector: the load balancer selects the instance by an attribute.
	PatternSelector Pattern = "B"
	// PatternNone: no module makes a load balancer.
	PatternNone Pattern = "C"
)

// Listener is one frontend of the endpoint's host (control-planes.md 4).
type Listener string

// The listeners.
const (
	// ListenerAPI is the frontend of the API servers, on the endpoint's port.
	ListenerAPI Listener = "api"
	// ListenerSupervisor is the frontend of RKE2's supervisors, on 9345.
	ListenerSupervisor Listener = "supervisor"
)

// Membership tells how the instances of a module join the control plane's backends.
type Membership struct {
	Pattern Pattern
	// Declared tells that the module's captf-harness.json says so; otherwise it
	// was recognised by resource types.
	Declared bool
	// Members are the attachments or selectors.
	Members []Member
}

// Member is one attachment or selector (harness.md H1).
type Member struct {
	// Listener is "" when unknown: the member then counts for the API.
	Listener Listener
	// Address is a resource address; without an index it covers all instances.
	Address string
	// Path is the attribute path of a selector; nil for an attachment.
	Path []string
}

// Resource is one managed resource with its attributes, from a plan or a state.
type Resource struct {
	// Address is relative to the module.
	Address string
	// Type is the resource's type.
	Type string
	// Values are the attributes. They may hold secrets: they are compared, never printed.
	Values map[string]any
	// DependsOn are the addresses, without instance keys, of everything that it
	// was created after; only a state tells.
	DependsOn []string
}
