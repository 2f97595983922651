package module

import (
	"strings"

	version "github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
)

// Module is one module directory as one runtime reads it, after override files
// were merged in. All lists are sorted by name, or, for what has no name, stand
// in reading order.
type Module struct {
	// Runtime is the runtime whose view this is.
	Runtime Runtime
	// Dir is the directory relative to the root, with forward slashes; "." for
	// the root itself.
	Dir string
	// Files lists what the runtime reads in the directory, in reading order:
	// primary files by name, then override files by name.
	Files []*File
	// Hidden lists the .tf and .tf.json files that OpenTofu ignores for the
	// sake of a .tofu twin. It is empty in Terraform's view.
	Hidden []*File

	Variables []*Variable
	Locals    []*Local
	Outputs   []*Output
	// Resources holds managed resources, data sources and ephemeral resources,
	// sorted by mode, type and name.
	Resources []*Resource
	Calls     []*ModuleCall
	Providers []*Provider

	// RequiredProviders lists the entries of the required_providers block.
	RequiredProviders []*RequiredProvider
	// Versions lists the declared constraints on the runtime's own version.
	Versions []*VersionConstraint
	// Backends and Clouds hold what is in force after overrides: at most one.
	Backends []*Block
	Clouds   []*Block

	Checks  []*Check
	Moved   []*Block
	Removed []*Block
	// Imports are import blocks. The runtimes take them in the root of a
	// configuration only, which of a tree here the caller knows.
	Imports []*Block
	// Settings holds the remaining blocks that configure the runtime itself:
	// terraform, language, encryption and provider_meta blocks.
	Settings []*Block

	// Features lists uses of language constructs that not every supported
	// version of both runtimes knows.
	Features []FeatureUse
	// Unsupported holds the errors that this runtime raises for constructs that
	// only the other runtime knows; of the root module, also those of the local
	// modules that it calls. A tree whose views all have such errors does not
	// load.
	Unsupported hcl.Diagnostics

	byName index
}

// Block is where a block of the language was declared.
type Block struct {
	// Type is the block's type, such as "variable".
	Type string
	// Labels are the block's labels.
	Labels []string
	// DefRange is the block's header.
	DefRange hcl.Range
	// TypeRange and LabelRanges are the parts of the header.
	TypeRange   hcl.Range
	LabelRanges []hcl.Range
	// Range is the whole block. In JSON syntax it is the header alone.
	Range hcl.Range
	// Overrides lists the headers of the blocks in override files that were
	// merged into this one, in order.
	Overrides []hcl.Range
	// Attributes holds the arguments with a fixed meaning that were set, by
	// name, each as it stands after overrides: its range lies in the override
	// file if that is where it was set.
	Attributes hcl.Attributes
	// Body gives access to everything inside the block.
	Body Body
}

// Attr returns the argument with the given name, or nil when it was not set.
func (b *Block) Attr(name string) *hcl.Attribute { return b.Attributes[name] }

// RangeOf returns where the argument with the given name was set, or else the
// block's header: the place to report a problem with it.
func (b *Block) RangeOf(name string) hcl.Range {
	if a := b.Attributes[name]; a != nil {
		return a.Range
	}
	return b.DefRange
}

// JSON tells whether the block itself was declared in JSON syntax. Arguments
// from an override file may be in another; see [IsJSON].
func (b *Block) JSON() bool { return IsJSON(b.DefRange) }

// IsJSON tells whether the range lies in a file in JSON syntax.
func IsJSON(r hcl.Range) bool { return strings.HasSuffix(r.Filename, ".json") }

// Variable is a variable block.
type Variable struct {
	Block
	Name        string
	Description string

	// HasType tells whether a type was given at all.
	HasType bool
	// Type is the type constraint, with optional attributes. It is
	// [cty.DynamicPseudoType] when none was given.
	Type cty.Type
	// TypeDefaults holds the defaults of optional attributes, or nil.
	TypeDefaults *typeexpr.Defaults

	// HasDefault tells whether a default was given.
	HasDefault bool
	// Default is the default, converted to the type; [cty.NilVal] without one.
	Default cty.Value

	Sensitive bool
	Ephemeral bool
	// Nullable is whether null is a valid value; true unless set otherwise.
	Nullable bool
	// Deprecated is the deprecation message, empty when not deprecated.
	Deprecated string
	// Validations are the validation blocks.
	Validations []*Condition
}

// Output is an output block.
type Output struct {
	Block
	Name        string
	Description string
	// Value is the value's expression. It is nil only in JSON files that set it
	// to nothing.
	Value         hcl.Expression
	Sensitive     bool
	Ephemeral     bool
	Deprecated    string
	DependsOn     []hcl.Traversal
	Preconditions []*Condition
}

// Local is one entry of a locals block.
type Local struct {
	Name string
	Expr hcl.Expression
	// Range is the whole definition, NameRange its name.
	Range, NameRange hcl.Range
	// Overrides lists the definitions that this one replaced.
	Overrides []hcl.Range
}

// Mode is the kind of a resource.
type Mode string

// The modes, in sorting order.
const (
	Managed   Mode = "managed"
	Data      Mode = "data"
	Ephemeral Mode = "ephemeral"
)

// Resource is a resource, data or ephemeral block.
type Resource struct {
	Block
	Mode Mode
	Type string
	Name string
	// Count, ForEach and Enabled are the repetition arguments, nil when unset.
	Count, ForEach, Enabled *hcl.Attribute
	// Provider is the provider argument, nil when unset.
	Provider *ProviderRef
	// DependsOn is the depends_on argument.
	DependsOn []hcl.Traversal
	Lifecycle Lifecycle
	// Provisioners and Connection are those that are in force after overrides.
	Provisioners []*Provisioner
	Connection   *Block
	// InCheck is the check block that a data source is nested in, or nil.
	InCheck *Check
}

// Address returns the resource's address inside its module.
func (r *Resource) Address() string {
	switch r.Mode {
	case Data:
		return "data." + r.Type + "." + r.Name
	case Ephemeral:
		return "ephemeral." + r.Type + "." + r.Name
	}
	return r.Type + "." + r.Name
}

// Lifecycle is a lifecycle block. All fields are zero when it is absent.
type Lifecycle struct {
	// DefRange is the block's header.
	DefRange hcl.Range
	// Attributes holds the arguments of the block by name, after overrides.
	Attributes hcl.Attributes
	// CreateBeforeDestroy is the argument's value.
	CreateBeforeDestroy bool
	// PreventDestroy is the argument, nil when unset. Only OpenTofu accepts
	// anything but a literal.
	PreventDestroy *hcl.Attribute
	// IgnoreAll is `ignore_changes = all`.
	IgnoreAll bool
	// IgnoreChanges lists the ignored arguments as relative traversals.
	IgnoreChanges []hcl.Traversal
	// ReplaceTriggeredBy lists the expressions of that argument.
	ReplaceTriggeredBy []hcl.Expression
	Preconditions      []*Condition
	Postconditions     []*Condition
}

// Provisioner is a provisioner block.
type Provisioner struct {
	Block
	// Type is the provisioner's type, such as "local-exec".
	Type string
	// Destroy tells whether it runs on destroy instead of on create.
	Destroy bool
	// Continue tells whether a failure is ignored.
	Continue bool
	// Connection is the nested connection block, or nil.
	Connection *Block
}

// Condition is a validation, precondition, postcondition or assert block.
type Condition struct {
	Block
	Condition    hcl.Expression
	ErrorMessage hcl.Expression
}

// Check is a check block. Its data source stands among the module's resources.
type Check struct {
	Block
	Name    string
	Data    *Resource
	Asserts []*Condition
}

// ProviderRef is a reference to a provider configuration.
type ProviderRef struct {
	// Name is the provider's local name, Alias the configuration's, if any.
	Name, Alias string
	// Key is the instance key expression in brackets, or nil (OpenTofu).
	Key   hcl.Expression
	Range hcl.Range
}

// Provider is a provider configuration block.
type Provider struct {
	Block
	// Name is the provider's local name.
	Name string
	// Alias distinguishes several configurations; empty for the default one.
	Alias string
}

// RequiredProvider is an entry of a required_providers block.
type RequiredProvider struct {
	// Name is the local name.
	Name string
	// Source is the provider's address as written; empty when not given.
	Source string
	// Version is the constraint as written; empty when not given.
	Version     string
	Constraints version.Constraints
	// Aliases lists configuration_aliases.
	Aliases []ProviderRef
	// Range is the entry, SourceRange and VersionRange its parts if given.
	Range, NameRange          hcl.Range
	SourceRange, VersionRange hcl.Range
	// Override tells whether the entry stands in an override file.
	Override bool
}

// Address returns the provider's full address HOST/NAMESPACE/TYPE as the
// runtime understands it: without a host it is the runtime's own registry,
// without a source the namespace "hashicorp" or, for the built-in provider, the
// address terraform.io/builtin/terraform.
func (p *RequiredProvider) Address(r Runtime) string { return providerAddress(p.Name, p.Source, r) }

// VersionConstraint is a constraint on the runtime's own version.
type VersionConstraint struct {
	// Raw is the constraint as written.
	Raw         string
	Constraints version.Constraints
	// Argument is "required_version", or "opentofu" in OpenTofu's
	// compatible_with block.
	Argument string
	Range    hcl.Range
	// Effective tells whether the runtime of this view heeds it: OpenTofu takes
	// required_version from .tofu and .tofu.json files only.
	Effective bool
}

// SourceKind tells what a module call's source is.
type SourceKind string

// The kinds of source.
const (
	// SourceLocal is a path that both runtimes accept as local.
	SourceLocal SourceKind = "local"
	// SourceRemote is anything that a runtime would fetch. It is not followed.
	SourceRemote SourceKind = "remote"
	// SourceAbsolute is an absolute path, be it inside the root directory or
	// not. It is not followed: where an image runs, the path leads elsewhere.
	SourceAbsolute SourceKind = "absolute"
	// SourceRefused is meant as a local path, but refused by the runtimes.
	SourceRefused SourceKind = "refused"
	// SourceUnknown is an expression that cannot be evaluated without running
	// the module (OpenTofu).
	SourceUnknown SourceKind = "unknown"
)

// ModuleCall is a module block.
type ModuleCall struct {
	Block
	Name string
	// Source is the source as written, or as evaluated; empty when unknown.
	Source string
	Kind   SourceKind
	// Version is the version argument, nil when unset.
	Version *hcl.Attribute
	// Count, ForEach and Enabled are the repetition arguments, nil when unset.
	Count, ForEach, Enabled *hcl.Attribute
	DependsOn               []hcl.Traversal
	// Args holds the arguments that become the callee's variables, by name.
	Args hcl.Attributes
	// Providers maps the callee's provider configurations to the caller's.
	Providers []PassedProvider
	// Module is the called module in the same runtime's view; nil for a remote
	// call and for one that is listed in [Tree.Escapes].
	Module *Module
}

// PassedProvider is an entry of a module call's providers argument.
type PassedProvider struct {
	InChild, InParent ProviderRef
}

// FeatureUse is a use of a construct that not every version knows.
type FeatureUse struct {
	*Feature
	Range hcl.Range
}
