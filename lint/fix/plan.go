package fix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/lint/rules"
	"github.com/captf-toolkit/captf/sdk/module"
)

// Plan is what is to be done to a module.
type Plan struct {
	// Changes are the files to write, by name.
	Changes []Change
	// Skipped says what is not done and why.
	Skipped []string
}

// Change is a new content of one file.
type Change struct {
	// File is relative to the module directory, with forward slashes.
	File string
	// Old is the content now; nil when the file does not exist.
	Old []byte
	// New is the content after the change.
	New []byte
	// Done says what the change does, a sentence without period an entry.
	Done []string
}

// providerIDs is the output that has to be sorted.
const providerIDs = "provider_id_list"

// For returns what can be done to a module that plays the role of the spec.
func For(tree *module.Tree, spec contract.RoleSpec) (*Plan, error) {
	p := &planner{tree: tree, root: tree.Primary, files: map[string]*file{}}
	p.declareInputs(spec)
	p.markSensitive(spec)
	p.sortMembers(spec)
	return p.finish()
}

type planner struct {
	tree  *module.Tree
	root  *module.Module
	files map[string]*file
	plan  Plan
}

func (p *planner) skip(format string, args ...any) {
	p.plan.Skipped = append(p.plan.Skipped, fmt.Sprintf(format, args...))
}

// open returns a file to edit; it explains why when that is not possible.
func (p *planner) open(name, what string) *file {
	if f, ok := p.files[name]; ok {
		return f
	}
	src := p.tree.File(name)
	if src != nil && src.JSON {
		p.skip("%s: %s is in JSON syntax, which is not edited", what, name)
		return nil
	}
	var content []byte
	if src != nil {
		content = src.Bytes
	}
	f, err := parse(name, content)
	if err != nil {
		p.skip("%s: %s", what, err)
		return nil
	}
	f.exists = src != nil
	p.files[name] = f
	return f
}

// declareInputs appends the contract inputs that are missing, in contract order.
func (p *planner) declareInputs(spec contract.RoleSpec) {
	var missing []contract.Input
	for _, in := range spec.Inputs {
		if p.root.Variable(in.Name) == nil {
			missing = append(missing, in)
		}
	}
	if len(missing) == 0 {
		return
	}
	f := p.open(p.variablesFile(spec), "declaring inputs")
	if f == nil {
		return
	}
	for _, in := range missing {
		f.appended = append(f.appended, Declaration(in))
		f.did("declare %s", in.Name)
	}
}

// Declaration returns the variable block of a contract input, formatted.
func Declaration(in contract.Input) string {
	var b strings.Builder
	fmt.Fprintf(&b, "variable %q {\n", in.Name)
	fmt.Fprintf(&b, "type = %s\n", in.Shape.TypeExpr())
	fmt.Fprintf(&b, "description = %s\n", hclwrite.TokensForValue(text(firstSentence(in.Doc))).Bytes())
	if in.Sensitive {
		b.WriteString("sensitive = true\n")
	}
	if in.MayDefault {
		b.WriteString("default = null\n")
	}
	b.WriteString("}\n")
	return string(hclwrite.Format([]byte(b.String())))
}

// variablesFile picks where inputs are declared: where most of them are
// already, else variables.tf.
func (p *planner) variablesFile(spec contract.RoleSpec) string {
	count := map[string]int{}
	for _, in := range spec.Inputs {
		if v := p.root.Variable(in.Name); v != nil && p.editable(v.DefRange.Filename) {
			count[v.DefRange.Filename]++
		}
	}
	best := ""
	for _, f := range p.root.Files {
		if n := count[f.Name]; n > 0 && (best == "" || n > count[best]) {
			best = f.Name
		}
	}
	if best != "" {
		return best
	}
	if p.tree.Terraform == nil {
		return "variables.tofu"
	}
	// A .tf file that a twin hides would be seen by one runtime only.
	for _, name := range []string{"variables.tf", "variables_contract.tf"} {
		if p.tree.File(strings.TrimSuffix(name, ".tf")+".tofu") == nil {
			return name
		}
	}
	return "contract_inputs.tf"
}

// editable tells that a file of the root module is in native syntax, no
// override, and read by both runtimes if there are two views.
func (p *planner) editable(name string) bool {
	f := p.tree.File(name)
	if f == nil || f.JSON || f.Override {
		return false
	}
	for _, view := range []*module.Module{p.tree.Terraform, p.tree.OpenTofu} {
		if view != nil && !slices.Contains(view.Files, f) {
			return false
		}
	}
	return true
}

// markSensitive adds sensitive = true to inputs that hold secrets.
func (p *planner) markSensitive(spec contract.RoleSpec) {
	for _, in := range spec.Inputs {
		v := p.root.Variable(in.Name)
		if !in.Sensitive || v == nil || v.Sensitive {
			continue
		}
		what := "marking " + in.Name
		// An argument in an override file counts where it stands.
		f := p.open(v.RangeOf("sensitive").Filename, what)
		if f == nil {
			continue
		}
		if !f.edit("variable", in.Name, func(b *hclwrite.Block) { setTrue(b, "sensitive") }) {
			p.skip("%s: the block is not in %s", what, f.name)
			continue
		}
		f.did("mark %s as sensitive", in.Name)
	}
}

// sortMembers wraps the list of members in sort().
func (p *planner) sortMembers(spec contract.RoleSpec) {
	o := p.root.Output(providerIDs)
	if _, ok := spec.Output(providerIDs); !ok || o == nil {
		return
	}
	expr, ok := o.Value.(hclsyntax.Expression)
	if !ok || rules.IsSorted(expr) {
		return
	}
	what := "sorting " + providerIDs
	if v := flow.New(p.root, spec).Output(o); v.MayBeNull() {
		p.skip("%s: the list may be null, which sort() does not take; sort it where it is not null", what)
		return
	}
	f := p.open(o.RangeOf("value").Filename, what)
	if f == nil {
		return
	}
	sorted := false
	found := f.edit("output", o.Name, func(b *hclwrite.Block) {
		if a := b.Body().GetAttribute("value"); a != nil {
			b.Body().SetAttributeRaw("value", hclwrite.TokensForFunctionCall("sort", a.Expr().BuildTokens(nil)))
			sorted = true
		}
	})
	if !found || !sorted {
		p.skip("%s: the block is not in %s", what, f.name)
		return
	}
	f.did("sort %s", o.Name)
}

// finish writes the edited files as text and makes sure that they still parse.
func (p *planner) finish() (*Plan, error) {
	for _, f := range p.files {
		if len(f.done) == 0 {
			continue
		}
		content := f.bytes()
		if _, diags := hclsyntax.ParseConfig(content, f.name, hcl.InitialPos); diags.HasErrors() {
			return nil, fmt.Errorf("editing %s: the result does not parse: %w", f.name, diags)
		}
		c := Change{File: f.name, New: content, Done: f.done}
		if f.exists {
			c.Old = f.original
		}
		p.plan.Changes = append(p.plan.Changes, c)
	}
	slices.SortFunc(p.plan.Changes, func(a, b Change) int { return strings.Compare(a.File, b.File) })
	return &p.plan, nil
}

func firstSentence(s string) string {
	head, _, found := strings.Cut(s, ". ")
	if found {
		return head + "."
	}
	return s
}
