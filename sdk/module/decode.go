package module

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// declarations is what one file declares, before files are combined.
type declarations struct {
	file *File

	variables         []*Variable
	locals            []*Local
	outputs           []*Output
	resources         []*Resource
	calls             []*ModuleCall
	providers         []*Provider
	requiredProviders []*requiredProviders
	versions          []*VersionConstraint
	backends          []*Block
	clouds            []*Block
	checks            []*Check
	moved             []*Block
	removed           []*Block
	imports           []*Block
	settings          []*Block
	features          []FeatureUse
}

// requiredProviders is one required_providers block.
type requiredProviders struct {
	Block
	entries []*RequiredProvider
}

// decoder turns the parsed blocks of one file into declarations. It knows both
// runtimes: what only one of them accepts is noted as a feature, not an error.
type decoder struct {
	override bool
	out      *declarations
	diags    hcl.Diagnostics
}

// decodeFile decodes a parsed file. The diagnostics hold what keeps both
// runtimes from accepting it, and warnings.
func decodeFile(f *File) (*declarations, hcl.Diagnostics) {
	d := &decoder{override: f.Override, out: &declarations{file: f}}
	content := d.content("", f.HCL.Body, fileSchema)
	for _, b := range content.Blocks {
		d.topLevel(b)
	}
	return d.out, d.diags
}

func (d *decoder) topLevel(b *hcl.Block) {
	out := d.out
	switch b.Type {
	case "terraform":
		d.terraform(b)
	case "language":
		d.language(b)
	case "required_providers":
		d.fail(b.TypeRange, "Misplaced required_providers block", `move it into a "terraform" block`)
	case "variable":
		out.variables = append(out.variables, d.variable(b))
	case "locals":
		out.locals = append(out.locals, d.localValues(b)...)
	case "output":
		out.outputs = append(out.outputs, d.output(b))
	case "module":
		out.calls = append(out.calls, d.call(b))
	case "provider":
		if p := d.provider(b); p != nil {
			out.providers = append(out.providers, p)
		}
	case "resource":
		out.resources = append(out.resources, d.resource(b, Managed))
	case "data":
		out.resources = append(out.resources, d.resource(b, Data))
	case "ephemeral":
		out.resources = append(out.resources, d.resource(b, Ephemeral))
	case "check":
		d.check(b)
	case "moved":
		out.moved = append(out.moved, d.plain(b, movedSchema))
	case "removed":
		out.removed = append(out.removed, d.removedBlock(b))
	case "import":
		out.imports = append(out.imports, d.importBlock(b))
	default: // action
		out.settings = append(out.settings, newBlock(b, nil, newBody(nil, b.Body)))
	}
}

// content applies a schema to a body and notes the use of features, which are
// found by the kind of block and the name of what is inside.
func (d *decoder) content(kind string, body hcl.Body, s *hcl.BodySchema) *hcl.BodyContent {
	content, diags := body.Content(s)
	d.diags = append(d.diags, diags...)
	d.noteFeatures(kind, content)
	return content
}

// partial is content for bodies that hold more than the schema knows.
func (d *decoder) partial(kind string, body hcl.Body, s *hcl.BodySchema) (*hcl.BodyContent, hcl.Body) {
	content, rest, diags := body.PartialContent(s)
	d.diags = append(d.diags, diags...)
	d.noteFeatures(kind, content)
	return content, rest
}

func (d *decoder) noteFeatures(kind string, content *hcl.BodyContent) {
	prefix := kind
	if kind != "" {
		prefix += "."
	}
	for name, a := range content.Attributes {
		if f := featureByID[prefix+name]; f != nil {
			d.out.features = append(d.out.features, FeatureUse{f, a.NameRange})
		}
	}
	for _, b := range content.Blocks {
		if f := featureByID[prefix+b.Type]; f != nil {
			d.out.features = append(d.out.features, FeatureUse{f, b.DefRange})
		}
	}
}

func (d *decoder) feature(id string, at hcl.Range) {
	d.out.features = append(d.out.features, FeatureUse{featureByID[id], at})
}

func (d *decoder) fail(at hcl.Range, summary, detail string, args ...any) {
	d.diags = append(d.diags, problem(&at, summary, detail, args...))
}

func newBlock(b *hcl.Block, attrs hcl.Attributes, body Body) *Block {
	out := &Block{
		Type:        b.Type,
		Labels:      b.Labels,
		DefRange:    b.DefRange,
		TypeRange:   b.TypeRange,
		LabelRanges: b.LabelRanges,
		Range:       b.DefRange,
		Attributes:  attrs,
		Body:        body,
	}
	if native, ok := b.Body.(*hclsyntax.Body); ok {
		out.Range.End = native.SrcRange.End
	}
	return out
}

// plain decodes a block whose arguments need no further treatment.
func (d *decoder) plain(b *hcl.Block, s *hcl.BodySchema) *Block {
	content := d.content(b.Type, b.Body, s)
	for _, name := range []string{"from", "to"} {
		if a := content.Attributes[name]; a != nil {
			_, diags := hcl.AbsTraversalForExpr(a.Expr)
			d.diags = append(d.diags, diags...)
		}
	}
	return newBlock(b, content.Attributes, newBody(nil, b.Body))
}

const nameRule = "a name starts with a letter or an underscore and holds only letters, digits, underscores and dashes"

func (d *decoder) checkName(b *hcl.Block, label int, what string) {
	if !hclsyntax.ValidIdentifier(b.Labels[label]) {
		d.fail(b.LabelRanges[label], "Invalid "+what, "%q is not a name; %s", b.Labels[label], nameRule)
	}
}

// constant evaluates an argument that may not refer to anything and converts
// it. It returns false when that is impossible, which was reported then.
func (d *decoder) constant(a *hcl.Attribute, want cty.Type) (cty.Value, bool) {
	val, ok := d.value(a)
	if !ok {
		return cty.NilVal, false
	}
	val, err := convert.Convert(val, want)
	if err != nil || val.IsNull() || !val.IsWhollyKnown() {
		d.fail(a.Expr.Range(), "Unsuitable value", "%s must be %s", a.Name, literals[want])
		return cty.NilVal, false
	}
	return val, true
}

var literals = map[cty.Type]string{cty.String: "a string", cty.Bool: "true or false"}

// value evaluates an argument that may not refer to anything.
func (d *decoder) value(a *hcl.Attribute) (cty.Value, bool) {
	val, diags := a.Expr.Value(nil)
	if !diags.HasErrors() {
		return val, true
	}
	if refs := a.Expr.Variables(); len(refs) > 0 {
		d.fail(refs[0].SourceRange(), "Not a literal", "%s cannot refer to other objects here; write a literal", a.Name)
		return cty.NilVal, false
	}
	for _, p := range diags {
		if p.Summary == "Function calls not allowed" {
			d.fail(*p.Subject, "Not a literal", "%s cannot call functions here; write a literal", a.Name)
			return cty.NilVal, false
		}
	}
	d.diags = append(d.diags, diags...)
	return cty.NilVal, false
}

// text returns the value of a string argument, "" if it is absent or invalid.
func (d *decoder) text(attrs hcl.Attributes, name string) string {
	a := attrs[name]
	if a == nil {
		return ""
	}
	val, ok := d.constant(a, cty.String)
	if !ok {
		return ""
	}
	return val.AsString()
}

// flag returns the value of a boolean argument, or def if absent or invalid.
func (d *decoder) flag(attrs hcl.Attributes, name string, def bool) bool {
	a := attrs[name]
	if a == nil {
		return def
	}
	val, ok := d.constant(a, cty.Bool)
	if !ok {
		return def
	}
	return val.True()
}

// deprecation returns the message of a deprecated argument.
func (d *decoder) deprecation(attrs hcl.Attributes) string {
	msg := d.text(attrs, "deprecated")
	if a := attrs["deprecated"]; a != nil && !d.diags.HasErrors() && strings.TrimSpace(msg) == "" {
		d.fail(a.Expr.Range(), "Empty deprecation message", "say what to use instead")
	}
	return msg
}

// condition decodes a validation, precondition, postcondition or assert block.
func (d *decoder) condition(b *hcl.Block) *Condition {
	if d.override {
		d.fail(b.DefRange, "Override of a "+b.Type+" block",
			"override files cannot hold %q blocks; move it into the file that declares the rest", b.Type)
		return &Condition{Block: *newBlock(b, nil, newBody(nil, b.Body))}
	}
	content := d.content(b.Type, b.Body, conditionSchema)
	c := &Condition{Block: *newBlock(b, content.Attributes, newBody(nil, b.Body))}
	if a := content.Attributes["condition"]; a != nil {
		c.Condition = a.Expr
		if len(a.Expr.Variables()) == 0 {
			d.fail(a.Expr.Range(), "Constant condition",
				"the condition of this %s refers to nothing and so checks nothing; refer to what is to be checked", b.Type)
		}
	}
	if a := content.Attributes["error_message"]; a != nil {
		c.ErrorMessage = a.Expr
	}
	return c
}

// once reports a block that may stand only once and returns false for it.
func (d *decoder) once(seen **hcl.Block, b *hcl.Block) bool {
	if *seen != nil {
		d.fail(b.DefRange, "Duplicate "+b.Type+" block", "there already is one at %s; join them", place((*seen).DefRange))
		return false
	}
	*seen = b
	return true
}

// single reports repetition arguments that exclude each other.
func (d *decoder) single(attrs ...*hcl.Attribute) {
	var first *hcl.Attribute
	for _, a := range attrs {
		switch {
		case a == nil:
		case first == nil:
			first = a
		default:
			d.fail(a.NameRange, "Conflicting arguments", "%q and %q exclude each other; keep one", first.Name, a.Name)
			return
		}
	}
}

// traversals decodes a list of references such as depends_on.
func (d *decoder) traversals(a *hcl.Attribute) []hcl.Traversal {
	if a == nil {
		return nil
	}
	exprs, diags := hcl.ExprList(a.Expr)
	d.diags = append(d.diags, diags...)
	var out []hcl.Traversal
	for _, e := range exprs {
		tr, diags := hcl.AbsTraversalForExpr(d.unquote(e))
		d.diags = append(d.diags, diags...)
		if len(tr) > 0 {
			out = append(out, tr)
		}
	}
	return out
}

// unquote turns a reference in quotes, which the runtimes accept with a warning
// in a few places, into the reference.
func (d *decoder) unquote(e hcl.Expression) hcl.Expression {
	if key, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		e = key.Wrapped
	}
	if !isQuoted(e) {
		return e
	}
	val, diags := e.Value(nil)
	if diags.HasErrors() || val.IsNull() || !val.IsKnown() || val.Type() != cty.String {
		return e // the caller complains of it
	}
	rng := e.Range()
	start := rng.Start
	start.Column++
	start.Byte++
	tr, diags := hclsyntax.ParseTraversalAbs([]byte(val.AsString()), rng.Filename, start)
	d.diags = append(d.diags, diags...)
	return &hclsyntax.ScopeTraversalExpr{Traversal: tr, SrcRange: rng}
}

// isQuoted tells whether the expression is a quoted string in native syntax.
func isQuoted(e hcl.Expression) bool {
	_, ok := e.(*hclsyntax.TemplateExpr)
	return ok
}

// isConstant tells whether the expression can be evaluated on its own.
func isConstant(e hcl.Expression) bool {
	val, diags := e.Value(nil)
	return !diags.HasErrors() && val.IsKnown()
}
