package simcloud

// Kind is what a resource type is to a cluster. Faults and the simulated load
// balancer ask for it.
type Kind string

// The kinds of resource type.
const (
	// KindOther is everything that has no other kind.
	KindOther Kind = ""
	// KindInstance is one machine.
	KindInstance Kind = "instance"
	// KindGroup makes and removes instances by itself.
	KindGroup Kind = "group"
	// KindTemplate is what a group makes its instances from.
	KindTemplate Kind = "template"
	// KindBalancer is a load balancer.
	KindBalancer Kind = "balancer"
	// KindListener is a port of a load balancer.
	KindListener Kind = "listener"
	// KindTarget is a set of backends, such as a target group or a pool.
	KindTarget Kind = "target"
	// KindAttachment makes an instance or an address a backend.
	KindAttachment Kind = "attachment"
	// KindNetwork is a network.
	KindNetwork Kind = "network"
	// KindSubnet is a part of a network from which instances get addresses.
	KindSubnet Kind = "subnet"
	// KindPort is a network interface.
	KindPort Kind = "port"
	// KindAddress is an address that is reserved.
	KindAddress Kind = "address"
	// KindFirewall is a security group or a rule of one.
	KindFirewall Kind = "firewall"
	// KindImage is a disk image.
	KindImage Kind = "image"
	// KindVolume is a disk.
	KindVolume Kind = "volume"
	// KindIdentity is a role, a profile or a policy.
	KindIdentity Kind = "identity"
	// KindRecord is a DNS record.
	KindRecord Kind = "record"
)

// Op is one kind of call that a provider makes to its cloud.
type Op string

// The kinds of call.
const (
	OpCreate Op = "create"
	OpUpdate Op = "update"
	OpDelete Op = "delete"
	// OpRead is the refresh of an object.
	OpRead Op = "read"
	// OpData is the reading of a data source.
	OpData Op = "data"
	// OpOpen is the opening of an ephemeral resource.
	OpOpen Op = "open"
)

// Persona is what the schemas of one provider do not say. Everything in it is
// optional; a provider without a persona behaves by its schema alone.
type Persona struct {
	// Source is the provider's address without a host, such as hashicorp/aws.
	Source string
	// Title is the cloud's own spelling of its name.
	Title string
	// Configure reads the settings from the provider's configuration, whose null
	// attributes are left out. Without it region and project are read by name.
	Configure func(config map[string]any) Settings
	// Settings are those that the configuration does not set.
	Settings Settings
	// Types are the rules of resource types, by type.
	Types map[string]TypeRule
	// Data are the rules of data sources, by type. A data source without one looks
	// for objects of the resource type of its name.
	Data map[string]DataRule
	// Ephemeral are the generators of ephemeral resource types, by type and attribute.
	Ephemeral map[string]map[string]Value
	// Values are the generators for attributes of every type, by attribute name;
	// a type's own win.
	Values map[string]Value
	// Cloud and Plain name optional attributes of every type; see [TypeRule].
	Cloud, Plain []string
	// ForceNew names attributes of every type whose change replaces an object; see [TypeRule].
	ForceNew []string
	// Refusals are the texts with which the cloud refuses a call, by reason. Without
	// one a plain text is used.
	Refusals map[Refusal]string
	// Functions are the provider's functions, by name. One that the schema has and
	// this map has not is refused when called.
	Functions map[string]Function
}

// Settings are what a provider's configuration decides for all its objects.
type Settings struct {
	// Region is the region that objects are in, "" where the cloud has none.
	Region string
	// Account is the account, project, subscription or tenant.
	Account string
	// Tags are put on every object that has tags, in the attribute tags_all, labels
	// and the like, if the schema has one that is computed.
	Tags map[string]string
	// More are settings that only this persona's own generators and hooks know.
	More map[string]string
}

// Function is one function of a provider, on plain values.
type Function func(args []any) (any, error)

// TypeRule is what the schema of one resource type does not say. Attributes are
// named by their path without indexes, such as root_block_device.volume_type.
type TypeRule struct {
	Kind Kind
	// ForceNew are the attributes whose change replaces the object. "a?b" holds only
	// if the attribute b is true. "-a" takes back what the persona says of every type.
	ForceNew []string
	// Cloud are the optional attributes that the cloud decides when they are not set.
	// Schemas derived from language bindings do not tell them from others; for those of
	// real providers, which do, the list is not needed and not looked at.
	Cloud []string
	// Plain are optional attributes that their name would make ones that the cloud decides.
	Plain []string
	// Defaults are values that the provider plans when an attribute is not set.
	Defaults map[string]any
	// Values are the generators of what the cloud decides, by path. A generator that asks the
	// context for another attribute gets it made first.
	Values map[string]Value
	// Recompute are computed attributes that every update changes; "*" is all of them
	// but id.
	Recompute []string
	// Unique are attributes, each a set, that no two objects of the type in one region
	// and account share; a create that would is refused. A set with a null is not compared.
	Unique [][]string
	// Parents are attributes that hold the id of an object that a create, update or delete
	// of this one changes too, as an attachment does with its target group. Such calls side
	// by side conflict when a fault asks for it.
	Parents []string
	// UsedBy are objects of other types that keep this one from being deleted.
	UsedBy []Reference
	// Stopped are the values of attributes of an instance that is stopped out of band.
	Stopped map[string]any
	// Addresses are the attributes that are made anew when the address of an instance changes.
	Addresses []string
	// Create, Update, Read and Delete run after the values are made and before the object
	// is stored, in one step with it. An error refuses the call.
	Create, Update, Read, Delete Hook
}

// Reference is an attribute of another type that may hold an object's id.
type Reference struct {
	// Type is the other resource type; Attribute the path of its attribute, which may be
	// a list or in one.
	Type, Attribute string
	// To is the attribute of this object that it holds; "" means id.
	To string
}

// DataRule is how a data source answers.
type DataRule struct {
	// Of is the resource type whose objects it finds; "" means the type of its own name.
	Of string
	// Match maps arguments of the data source to attributes of the objects, where their
	// names differ. An argument that maps to "" is not compared.
	Match map[string]string
	// Filter maps the names of a filter block, such as vpc-id, to attributes of the
	// objects. A name that is not in it is compared with the attribute of that name with
	// underscores, or with a tag for "tag:NAME".
	Filter map[string]string
	// List maps computed list attributes to the attribute of the objects that they collect,
	// such as ids to id. With it the data source finds any number of objects.
	List map[string]string
	// Values are the generators of what no object gave.
	Values map[string]Value
	// Strict refuses to answer when no object is found. Otherwise the answer is made up: things
	// that a module only looks up, such as images and zones, exist in no simulated cloud.
	Strict bool
	// Read has the last word. An error refuses the call.
	Read Hook
}

// Hook takes part in a call. It sees and changes the object by the context, and
// may make, change and remove others.
type Hook func(c *Context) error

// Refusal is a reason for which a cloud refuses a call.
type Refusal string

// The reasons for refusing a call.
const (
	// RefuseExists: an object with a unique name is there already.
	RefuseExists Refusal = "exists"
	// RefuseInUse: an object cannot be deleted, because another one uses it.
	RefuseInUse Refusal = "in-use"
	// RefuseQuota: a quota is used up.
	RefuseQuota Refusal = "quota"
	// RefuseConflict: another change of the same parent is going on.
	RefuseConflict Refusal = "conflict"
	// RefuseGone: the object to be changed does not exist any more.
	RefuseGone Refusal = "gone"
	// RefuseLimit: the simulated cloud is full.
	RefuseLimit Refusal = "limit"
)
