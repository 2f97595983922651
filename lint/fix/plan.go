package fix

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint"
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

// For returns what can be done to a module that plays the role of the options.
// Every fix is tried in memory first: one after which a runtime could not read
// the module any more, or that leads to a finding that was not there, is skipped
// and the others are kept. A finding that is allowed, by a comment or by the
// options, is left alone.
func For(tree *module.Tree, o lint.Options) (*Plan, error) {
	trial, err := newTrial(tree, o)
	if err != nil {
		return &Plan{Skipped: []string{err.Error()}}, nil //nolint:nilerr // A module that cannot be tried is not repaired, and the plan says why.
	}
	p := &planner{tree: tree, root: tree.Primary, trial: trial, files: map[string]*file{}}
	spec := o.Contract.Spec(o.Role)
	p.declareInputs(spec)
	p.markSensitive(spec)
	p.sortMembers(spec)
	p.perform()
	return p.finish(), nil
}

type planner struct {
	tree  *module.Tree
	root  *module.Module
	trial *trial
	files map[string]*file
	steps []step
	plan  Plan
}

// step is one fix.
type step struct {
	// what it is about, for messages; done says what it did.
	what, done string
	file       *file
	edit       func(*file) error
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
		if p.root.Variable(in.Name) != nil {
			continue
		}
		if other := p.elsewhere(in.Name); other != nil {
			p.skip("declaring %s: %s declares it already, but %s does not read that file, so a second declaration would break the module for %s; declare it in files that both read",
				in.Name, other.DefRange.Filename, p.root.Runtime, p.otherRuntime())
			continue
		}
		missing = append(missing, in)
	}
	if len(missing) == 0 {
		return
	}
	if at := p.unread(); at != "" {
		p.skip("declaring inputs: the module file %s leads out of the module directory and is not read, but the runtimes follow the link, so what it declares would be declared twice; copy the file into the module first", at)
		return
	}
	f := p.open(p.variablesFile(spec), "declaring inputs")
	if f == nil {
		return
	}
	for _, in := range missing {
		p.steps = append(p.steps, step{
			what: "declaring " + in.Name, done: "declare " + in.Name, file: f,
			edit: func(f *file) error {
				f.appended = append(f.appended, Declaration(in))
				return nil
			},
		})
	}
}

// unread returns a file of the root module that a runtime reads, but the loader
// does not, because it leads out of the module directory.
func (p *planner) unread() string {
	for _, e := range p.tree.Escapes {
		if e.Kind == module.EscapeFile && path.Dir(e.Source) == p.root.Dir {
			return e.Source
		}
	}
	return ""
}

// otherRuntime is the one whose view is not checked.
func (p *planner) otherRuntime() module.Runtime {
	if p.root.Runtime == module.Terraform {
		return module.OpenTofu
	}
	return module.Terraform
}

// elsewhere returns the variable as the other runtime reads it, if it does.
func (p *planner) elsewhere(name string) *module.Variable {
	other := p.tree.View(p.otherRuntime())
	if other == nil {
		return nil
	}
	return other.Variable(name)
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
		if !in.Sensitive || v == nil || v.Sensitive || p.trial.accepted("input/sensitive", in.Name) {
			continue
		}
		what := "marking " + in.Name
		// An argument in an override file counts where it stands.
		f := p.open(v.RangeOf("sensitive").Filename, what)
		if f == nil {
			continue
		}
		p.steps = append(p.steps, step{
			what: what, done: "mark " + in.Name + " as sensitive", file: f,
			edit: func(f *file) error {
				return f.edit("variable", in.Name, func(b *hclwrite.Block) error {
					setTrue(b, "sensitive")
					return nil
				})
			},
		})
	}
}

// sortMembers wraps the list of members in sort().
func (p *planner) sortMembers(spec contract.RoleSpec) {
	o := p.root.Output(providerIDs)
	if _, ok := spec.Output(providerIDs); !ok || o == nil {
		return
	}
	expr, ok := o.Value.(hclsyntax.Expression)
	if !ok || rules.IsSorted(expr) || p.trial.accepted("output/provider-id-list-shape", "order") {
		return
	}
	what := "sorting " + providerIDs
	if f, found := p.trial.wrongShape(providerIDs); found {
		p.skip("%s: it has another problem, which comes first: %s", what, f.Message)
		return
	}
	if why := p.sortable(flow.New(p.root, spec), o, expr); why != "" {
		p.skip("%s: %s", what, why)
		return
	}
	f := p.open(o.RangeOf("value").Filename, what)
	if f == nil {
		return
	}
	p.steps = append(p.steps, step{
		what: what, done: "sort " + o.Name, file: f,
		edit: func(f *file) error {
			return f.edit("output", o.Name, func(b *hclwrite.Block) error {
				a := b.Body().GetAttribute("value")
				if a == nil {
					return fmt.Errorf("the block in %s has no value", f.name)
				}
				b.Body().SetAttributeRaw("value", hclwrite.TokensForFunctionCall("sort", a.Expr().BuildTokens(nil)))
				return nil
			})
		},
	})
}

// perform makes the edits: all at once, or, if the result does not stand, one
// after the other without those that are to blame.
func (p *planner) perform() {
	if len(p.steps) == 0 || p.performAll() {
		return
	}
	for _, s := range p.steps {
		before := s.file.copy()
		err := s.edit(s.file)
		if err == nil {
			s.file.done = append(s.file.done, s.done)
			err = p.trial.check(p.contents())
		}
		if err != nil {
			*s.file = before
			p.skip("%s: %s", s.what, err)
		}
	}
}

func (p *planner) performAll() bool {
	before := map[*file]file{}
	for _, s := range p.steps {
		if _, seen := before[s.file]; !seen {
			before[s.file] = s.file.copy()
		}
	}
	ok := true
	for _, s := range p.steps {
		if ok = ok && s.edit(s.file) == nil; ok {
			s.file.done = append(s.file.done, s.done)
		}
	}
	if ok && p.trial.check(p.contents()) == nil {
		return true
	}
	for f, old := range before {
		*f = old
	}
	return false
}

// contents are the edited files by name.
func (p *planner) contents() map[string][]byte {
	out := map[string][]byte{}
	for name, f := range p.files {
		if len(f.done) > 0 {
			out[name] = f.bytes()
		}
	}
	return out
}

// finish lists the edited files by name.
func (p *planner) finish() *Plan {
	for name, content := range p.contents() {
		f := p.files[name]
		c := Change{File: name, New: content, Done: f.done}
		if f.exists {
			c.Old = f.original
		}
		p.plan.Changes = append(p.plan.Changes, c)
	}
	slices.SortFunc(p.plan.Changes, func(a, b Change) int { return strings.Compare(a.File, b.File) })
	return &p.plan
}

func firstSentence(s string) string {
	head, _, found := strings.Cut(s, ". ")
	if found {
		return head + "."
	}
	return s
}
