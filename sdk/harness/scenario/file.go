// Package scenario reads and writes scenarios: plain files that say what the
// user of a cluster asks for, what goes wrong, and what is expected in the end.
// The scenarios that are built in are such files too.
//
//	id: mine
//	title: an upgrade while an instance is gone
//	healthCheck: true
//	steps:
//	  - ask: {controlPlanes: 3}
//	  - fault: {kind: instance-gone, role: machine, machine: first}
//	  - ask: {upgrade: true}
//	  - ask: {delete: true}
//
// The types of this package are the form of such a file: reading, the JSON
// Schema and the reference page are made from their tags.
//
// Not in this package: playing a scenario (package harness), and which
// scenarios a control plane has (packages such as kcp, which embed the files).
package scenario

// Limits of a scenario.
const (
	// MaxBytes is the size of the largest file.
	MaxBytes = 256 << 10
	// MaxSteps is the largest number of steps, included ones counted.
	MaxSteps = 200
	// MaxIncludes is how deep files may include each other.
	MaxIncludes = 10
	// maxDepth is how deep values may be nested.
	maxDepth = 12
	// maxErrors is how many mistakes are told at once.
	maxErrors = 20
)

// File is the content of a scenario file.
type File struct {
	ID            string            `yaml:"id" scenario:"required" jsonschema:"pattern=^[A-Za-z][A-Za-z0-9._-]{0\\,62}$" jsonschema_description:"The name by which the scenario is chosen and reported: letters, digits, dots, hyphens and underscores."`
	Title         string            `yaml:"title" scenario:"required" jsonschema:"maxLength=200" jsonschema_description:"What is played, in a few words."`
	Source        string            `yaml:"source,omitempty" jsonschema:"maxLength=200" jsonschema_description:"Where the scenario comes from, such as a row of a specification or an incident."`
	ControlPlanes []string          `yaml:"controlPlanes,omitempty,flow" jsonschema:"enum=kcp,enum=rke2" jsonschema_description:"The control planes that it can be played with; all when it is left out."`
	Endpoint      string            `yaml:"endpoint,omitempty" jsonschema:"enum=module,enum=user,enum=late,enum=never" jsonschema_description:"Who gives the Cluster its endpoint: the cluster module (module, the default), the user from the start (user) or in a later step (late), or nobody (never). In the last two cases the harness leaves out what the module emits, and says so."`
	HealthCheck   bool              `yaml:"healthCheck,omitempty" jsonschema_description:"A MachineHealthCheck watches every machine: no Node 10 minutes after the start, or a Node or an infrastructure that is not Ready for 5 minutes."`
	Probes        bool              `yaml:"probes,omitempty" jsonschema_description:"Module runs beside the story try what it does not contain."`
	Race          string            `yaml:"race,omitempty" jsonschema:"enum=cluster-first,enum=machine-first" jsonschema_description:"Who writes first when the control plane has initialised; left to the seed when it is left out."`
	Requires      *Requires         `yaml:"requires,omitempty,flow" jsonschema_description:"What the story cannot be played without. Faults that only a simulated cloud can play need no mention."`
	Registration  string            `yaml:"registration,omitempty" jsonschema_description:"The registration method of joining nodes (rke2)."`
	Address       string            `yaml:"registrationAddress,omitempty" jsonschema_description:"The host for joining that the user gives (rke2, method address)."`
	Annotations   map[string]string `yaml:"annotations,omitempty" jsonschema_description:"Annotations of the control-plane object."`
	Bootstrap     *Bootstrap        `yaml:"bootstrap,omitempty,flow" jsonschema_description:"How bootstrap data is written."`
	APIServerPort int               `yaml:"apiServerPort,omitempty" jsonschema:"minimum=1,maximum=65535" jsonschema_description:"Cluster.spec.clusterNetwork.apiServerPort."`
	Hairpin       *bool             `yaml:"hairpin,omitempty" jsonschema_description:"A backend reaches itself through the balancer; true when it is left out."`
	Include       []string          `yaml:"include,omitempty,flow" jsonschema_description:"Scenarios, by id or by a path relative to this file, whose steps are played first, each without the deletion at its end."`
	Steps         []Step            `yaml:"steps,omitempty" jsonschema_description:"What happens, in order."`
	End           *End              `yaml:"end,omitempty" jsonschema_description:"The expected end, if it is not that every step comes to what it waits for."`
	Asserts       []string          `yaml:"asserts,omitempty,flow" jsonschema_description:"The requirements that the scenario is there to judge. They are for people; every requirement that the story touches is judged."`
}

// Requires is what a story cannot be played without.
type Requires struct {
	Pool bool `yaml:"pool,omitempty" jsonschema_description:"The set has a machinepool module."`
}

// Bootstrap is how bootstrap data is written.
type Bootstrap struct {
	Format string `yaml:"format,omitempty" jsonschema:"enum=cloud-config,enum=ignition" jsonschema_description:"The format."`
	Gzip   bool   `yaml:"gzip,omitempty" jsonschema_description:"The data is packed (rke2)."`
}

// Step is one thing that happens: exactly one of ask, fault, remediate and move.
type Step struct {
	ID        string `yaml:"id,omitempty" jsonschema:"pattern=^[A-Za-z][A-Za-z0-9._-]{0\\,62}$" jsonschema_description:"The name of the step; made from what it does when it is left out."`
	Title     string `yaml:"title,omitempty" jsonschema:"maxLength=300" jsonschema_description:"The line of the story; made from what the step does when it is left out."`
	Ask       *Ask   `yaml:"ask,omitempty,flow" jsonschema_description:"The user changes what is asked for. What is left out stays as it is."`
	Fault     *Fault `yaml:"fault,omitempty,flow" jsonschema_description:"Something goes wrong: at once, or when what it breaks comes."`
	Remediate string `yaml:"remediate,omitempty" jsonschema_description:"A person marks a machine for remediation, past every health check: first, last, a number, or a name."`
	Move      bool   `yaml:"move,omitempty" jsonschema:"enum=true" jsonschema_description:"clusterctl moves the objects to another management cluster: every status is lost."`
	Until     string `yaml:"until,omitempty" jsonschema_description:"What the step waits for: settled (everything is as asked for; the default but for faults), now (nothing; the default for faults), stalled (nothing moves any more), a duration such as 20m, or the id of a gate at which something waits."`
}

// Ask is a change of what the user asks for.
type Ask struct {
	ControlPlanes      *int   `yaml:"controlPlanes,omitempty" jsonschema:"minimum=1,maximum=9" jsonschema_description:"The number of control-plane machines."`
	Workers            *int   `yaml:"workers,omitempty" jsonschema:"minimum=0,maximum=50" jsonschema_description:"The number of worker machines."`
	Pool               *int   `yaml:"pool,omitempty" jsonschema:"minimum=0,maximum=50" jsonschema_description:"The size of the pool; it counts only if the set has one."`
	MaxSurge           *int   `yaml:"maxSurge,omitempty" jsonschema:"minimum=0,maximum=1" jsonschema_description:"The surge of a rollout: 1, or 0, which needs three control-plane machines."`
	Upgrade            bool   `yaml:"upgrade,omitempty" jsonschema_description:"The control plane's next Kubernetes version, which rolls it; once in a story."`
	Topology           bool   `yaml:"topology,omitempty" jsonschema_description:"With upgrade: the cluster's module, the workers and the pool get the version too, as with a ClusterClass."`
	Template           bool   `yaml:"template,omitempty" jsonschema_description:"Another machine template, which rolls the control plane."`
	WorkerTemplate     bool   `yaml:"workerTemplate,omitempty" jsonschema_description:"Another machine template for the workers, which rolls them; they and the pool get the version of the control plane."`
	Endpoint           string `yaml:"endpoint,omitempty" jsonschema_description:"An endpoint for the Cluster, as HOST:PORT (endpoint late)."`
	Delete             bool   `yaml:"delete,omitempty" jsonschema_description:"The Cluster is deleted; the last thing to ask for."`
	DeleteControlPlane bool   `yaml:"deleteControlPlane,omitempty" jsonschema_description:"The control-plane object alone is deleted."`
}

// Fault is something that goes wrong.
type Fault struct {
	Kind    string `yaml:"kind" scenario:"required" jsonschema_description:"The kind of fault."`
	Role    string `yaml:"role,omitempty" jsonschema:"enum=cluster,enum=machine,enum=machinepool" jsonschema_description:"The role of the object that it happens to; the first that the kind allows when it is left out."`
	Machine string `yaml:"machine,omitempty" jsonschema_description:"The machine that it happens to: first (the default), last, next (the next that is created), all, a number (counted from 1 as they are created), or a name. Workers have worker- before that."`
	Op      string `yaml:"op,omitempty" jsonschema:"enum=apply,enum=refresh,enum=destroy" jsonschema_description:"The kind of run that it breaks; the first that the kind allows when it is left out."`
	After   int    `yaml:"after,omitempty" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"How many resources exist before the run breaks; 1 when it is left out."`
	Times   int    `yaml:"times,omitempty" jsonschema:"minimum=1,maximum=100" jsonschema_description:"How many runs in a row are broken; 1 when it is left out."`
	For     string `yaml:"for,omitempty" jsonschema_description:"How long a lasting fault lasts, in virtual time such as 20m; for the rest of the story when it is left out."`
}

// End is the expected end of a story.
type End struct {
	Deleted bool      `yaml:"deleted,omitempty" jsonschema_description:"The cluster is deleted and nothing is left: what a story ends with whose last step deletes."`
	Stalled *EndStall `yaml:"stalled,omitempty,flow" jsonschema_description:"The last step never comes to what it waits for, because a gate stays closed. The scenario passes when exactly that gate does."`
}

// EndStall is an expected stall.
type EndStall struct {
	Gate        string `yaml:"gate" scenario:"required" jsonschema_description:"The id of the gate."`
	Requirement string `yaml:"requirement,omitempty" jsonschema_description:"The id that the stall is blamed on; any when it is left out."`
	Optional    bool   `yaml:"optional,omitempty" jsonschema_description:"The story may as well come to its end: which of the two happens is a choice of the modules."`
}
