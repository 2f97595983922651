package runner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/module"
)

// exportsVariable is the input that carries the cluster's exports.
const exportsVariable = "captf_cluster_outputs"

// exportReads finds the paths that a module reads from the cluster's exports
// (CP-070): directly, through local values, and in local modules that they are
// passed to. A path is listed once; that it is read where a missing value is
// not handled wins. place turns a file and a line into the text of a range.
func exportReads(view *module.Module, place func(file string, line int) string) []harness.ExportRead {
	found := map[string]exportRead{}
	scanExports(view, map[string]alias{exportsVariable: {}}, 0, func(r exportRead) {
		if len(r.path) == 0 {
			return // the whole value: nothing in it can be missing
		}
		key := strings.Join(r.path, "\x00")
		old, ok := found[key]
		if !ok || old.optional && !r.optional || old.optional == r.optional && rangeBefore(r.at, old.at) {
			found[key] = r
		}
	})
	reads := make([]harness.ExportRead, 0, len(found))
	for _, r := range found {
		reads = append(reads, harness.ExportRead{
			Path: r.path, Optional: r.optional, Range: place(r.at.Filename, r.at.Start.Line),
		})
	}
	slices.SortFunc(reads, func(a, b harness.ExportRead) int { return slices.Compare(a.Path, b.Path) })
	return reads
}

type exportRead struct {
	path     []string
	optional bool
	at       hcl.Range
}

func rangeBefore(a, b hcl.Range) bool {
	return cmp.Or(cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Start.Line, b.Start.Line), cmp.Compare(a.Start.Column, b.Start.Column)) < 0
}

// alias is a part of the exports that goes by another name.
type alias struct {
	path []string
	// soft tells that the value stands in for a missing one, so that reading
	// exactly this path cannot fail; reading below it can.
	soft bool
}

// below returns the part of an alias that the rest of a traversal leads to.
func (a alias) below(rest hcl.Traversal) alias {
	steps := steps(rest)
	if len(steps) == 0 {
		return a
	}
	return alias{path: append(slices.Clone(a.path), steps...)}
}

// steps are the names and literal keys that a traversal begins with.
func steps(t hcl.Traversal) []string {
	var out []string
	for _, s := range t {
		switch s := s.(type) {
		case hcl.TraverseAttr:
			out = append(out, s.Name)
		case hcl.TraverseIndex:
			key, ok := literalKey(s.Key)
			if !ok {
				return out
			}
			out = append(out, key)
		default:
			return out
		}
	}
	return out
}

func literalKey(v cty.Value) (string, bool) {
	switch {
	case v.IsNull() || !v.IsKnown() || v.IsMarked():
		return "", false
	case v.Type() == cty.String:
		return v.AsString(), true
	case v.Type() == cty.Number:
		return v.AsBigFloat().Text('f', -1), true
	}
	return "", false
}

// exportScan is the reading of one module with the variables that carry exports.
type exportScan struct {
	m         *module.Module
	variables map[string]alias
	// locals holds what was found out about local values; an entry without an
	// alias stands for a local that is none, or is being looked at.
	locals map[string]*alias
	// looks holds the paths that a local value looks at; an entry without any
	// stands for one that is being looked at.
	looks map[string][][]string
	found func(exportRead)
}

func scanExports(m *module.Module, variables map[string]alias, depth int, found func(exportRead)) {
	s := &exportScan{m: m, variables: variables, locals: map[string]*alias{}, looks: map[string][][]string{}, found: found}
	seen := map[hcl.Range]bool{}
	for _, ref := range m.References() {
		if ref.Expr == nil || seen[ref.Expr.Range()] {
			continue
		}
		seen[ref.Expr.Range()] = true
		guards := s.repetition(ref.Owner)
		for _, e := range syntax(ref.Expr) {
			s.walk(e, guards)
		}
	}
	if depth >= module.DefaultMaxDepth {
		return
	}
	for _, c := range m.Calls {
		if c.Module == nil {
			continue
		}
		passed := map[string]alias{}
		for name, arg := range c.Args {
			for _, e := range syntax(arg.Expr) {
				if a, ok := s.alias(e); ok {
					passed[name] = a
				}
			}
		}
		if len(passed) > 0 {
			scanExports(c.Module, passed, depth+1, found)
		}
	}
}

// repetition returns what count and for_each of the owner look at: where they
// do, the rest of the block runs only if it is there.
func (s *exportScan) repetition(o module.Owner) [][]string {
	var guards [][]string
	var attrs []*hcl.Attribute
	switch {
	case o.Resource != nil:
		attrs = []*hcl.Attribute{o.Resource.Count, o.Resource.ForEach, o.Resource.Enabled}
	case o.Call != nil:
		attrs = []*hcl.Attribute{o.Call.Count, o.Call.ForEach, o.Call.Enabled}
	}
	switch o.Argument() {
	case "count", "for_each", "enabled":
		return nil
	}
	for _, a := range attrs {
		if a == nil {
			continue
		}
		for _, e := range syntax(a.Expr) {
			guards = append(guards, s.guards(e)...)
		}
	}
	return guards
}

// syntax returns the expressions in an argument. In JSON files they are the
// templates inside its strings.
func syntax(e hcl.Expression) []hclsyntax.Expression {
	if native, ok := e.(hclsyntax.Expression); ok {
		return []hclsyntax.Expression{native}
	}
	var out []hclsyntax.Expression
	if pairs, diags := hcl.ExprMap(e); !diags.HasErrors() {
		for _, p := range pairs {
			out = append(out, syntax(p.Key)...)
			out = append(out, syntax(p.Value)...)
		}
		return out
	}
	if items, diags := hcl.ExprList(e); !diags.HasErrors() {
		for _, i := range items {
			out = append(out, syntax(i)...)
		}
		return out
	}
	// Without a context a string of a JSON file is what stands there.
	v, diags := e.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return nil
	}
	t, diags := hclsyntax.ParseTemplate([]byte(v.AsString()), e.Range().Filename, e.Range().Start)
	if diags.HasErrors() {
		return nil
	}
	return []hclsyntax.Expression{t}
}

// alias tells which part of the exports an expression stands for, if it is one.
func (s *exportScan) alias(e hclsyntax.Expression) (alias, bool) {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return s.named(e.Traversal)
	case *hclsyntax.ParenthesesExpr:
		return s.alias(e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return s.alias(e.Wrapped)
	case *hclsyntax.RelativeTraversalExpr:
		a, ok := s.alias(e.Source)
		return a.below(e.Traversal), ok
	case *hclsyntax.IndexExpr:
		v, diags := e.Key.Value(nil)
		if diags.HasErrors() {
			return alias{}, false
		}
		key, ok := literalKey(v)
		if !ok {
			return alias{}, false
		}
		a, ok := s.alias(e.Collection)
		return alias{path: append(slices.Clone(a.path), key)}, ok
	case *hclsyntax.ConditionalExpr:
		for _, branch := range []hclsyntax.Expression{e.TrueResult, e.FalseResult} {
			if a, ok := s.alias(branch); ok {
				return alias{path: a.path, soft: true}, true
			}
		}
	case *hclsyntax.FunctionCallExpr:
		return s.aliasCall(e)
	}
	return alias{}, false
}

// passing are the functions whose result has the parts of their first argument.
var passing = map[string]bool{
	"coalesce": true, "nonsensitive": true, "sensitive": true,
	"tobool": true, "tolist": true, "tomap": true, "tonumber": true, "tostring": true,
}

// function is a function's name without OpenTofu's optional namespace.
func function(e *hclsyntax.FunctionCallExpr) string { return strings.TrimPrefix(e.Name, "core::") }

func (s *exportScan) aliasCall(e *hclsyntax.FunctionCallExpr) (alias, bool) {
	if len(e.Args) == 0 {
		return alias{}, false
	}
	name := function(e)
	switch {
	case name == "lookup":
		return s.lookup(e)
	case name == "try":
		a, ok := s.alias(e.Args[0])
		a.soft = len(e.Args) > 1
		return a, ok
	case passing[name]:
		return s.alias(e.Args[0])
	}
	return alias{}, false
}

// lookup is lookup(part, "key") or lookup(part, "key", default).
func (s *exportScan) lookup(e *hclsyntax.FunctionCallExpr) (alias, bool) {
	if len(e.Args) < 2 {
		return alias{}, false
	}
	v, diags := e.Args[1].Value(nil)
	if diags.HasErrors() {
		return alias{}, false
	}
	key, ok := literalKey(v)
	if !ok {
		return alias{}, false
	}
	a, ok := s.alias(e.Args[0])
	return alias{path: append(slices.Clone(a.path), key), soft: len(e.Args) > 2}, ok
}

func (s *exportScan) named(t hcl.Traversal) (alias, bool) {
	if len(t) < 2 {
		return alias{}, false
	}
	name, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		return alias{}, false
	}
	switch t.RootName() {
	case "var":
		a, ok := s.variables[name.Name]
		return a.below(t[2:]), ok
	case "local":
		if a := s.local(name.Name); a != nil {
			return a.below(t[2:]), true
		}
	}
	return alias{}, false
}

func (s *exportScan) local(name string) *alias {
	if a, known := s.locals[name]; known {
		return a
	}
	s.locals[name] = nil // a local that refers to itself ends here
	l := s.m.Local(name)
	if l == nil {
		return nil
	}
	for _, e := range syntax(l.Expr) {
		if a, ok := s.alias(e); ok {
			s.locals[name] = &a
			return &a
		}
	}
	return nil
}

// walk reports the reads in an expression. guards are paths that are known to
// be looked at before.
func (s *exportScan) walk(e hclsyntax.Expression, guards [][]string) {
	w := &exportWalker{
		scan: s, guards: guards,
		handled: map[hclsyntax.Expression]bool{}, guarded: map[hclsyntax.Expression][][]string{}, consumed: map[hclsyntax.Expression]bool{},
	}
	_ = hclsyntax.Walk(e, w) // the walker has no diagnostics
}

// exportWalker follows the syntax tree and keeps what holds around a node.
type exportWalker struct {
	scan   *exportScan
	guards [][]string
	// depth counts the nodes around the present one in which a missing value is handled.
	depth int
	// handled are such nodes, guarded those that run only after a look at some
	// paths, consumed those that were reported as part of a longer path.
	handled  map[hclsyntax.Expression]bool
	guarded  map[hclsyntax.Expression][][]string
	consumed map[hclsyntax.Expression]bool
}

// Enter implements hclsyntax.Walker.
func (w *exportWalker) Enter(node hclsyntax.Node) hcl.Diagnostics {
	e, ok := node.(hclsyntax.Expression)
	if !ok {
		return nil // a scope or an attribute list, which may not even be comparable
	}
	if w.handled[e] {
		w.depth++
	}
	w.guards = append(w.guards, w.guarded[e]...)
	switch n := e.(type) {
	case *hclsyntax.ConditionalExpr:
		g := w.scan.guards(n.Condition)
		w.guarded[n.TrueResult], w.guarded[n.FalseResult] = g, g
	case *hclsyntax.FunctionCallExpr:
		w.call(n)
	case *hclsyntax.ScopeTraversalExpr:
		w.chain(n, nil)
	case *hclsyntax.RelativeTraversalExpr:
		w.chain(n, n.Source)
	case *hclsyntax.IndexExpr:
		w.chain(n, n.Collection)
	case *hclsyntax.ParenthesesExpr:
		if w.consumed[n] {
			w.consumed[n.Expression] = true
		}
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (w *exportWalker) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if e, ok := node.(hclsyntax.Expression); ok {
		if w.handled[e] {
			w.depth--
		}
		w.guards = w.guards[:len(w.guards)-len(w.guarded[e])]
	}
	return nil
}

func (w *exportWalker) call(n *hclsyntax.FunctionCallExpr) {
	switch function(n) {
	case "can":
		for _, a := range n.Args {
			w.handled[a] = true
		}
	case "try":
		// A failure in the last argument is a failure of try itself.
		for _, a := range n.Args[:max(0, len(n.Args)-1)] {
			w.handled[a] = true
		}
	case "lookup":
		if a, ok := w.scan.lookup(n); ok {
			w.report(a, n.Range())
		}
	}
}

// chain reports a path that is followed, once and at its full length.
func (w *exportWalker) chain(n hclsyntax.Expression, inner hclsyntax.Expression) {
	a, ok := w.scan.alias(n)
	if !ok {
		return
	}
	if inner != nil {
		w.consumed[inner] = true
	}
	if !w.consumed[n] {
		w.report(a, n.Range())
	}
}

func (w *exportWalker) report(a alias, at hcl.Range) {
	optional := a.soft || w.depth > 0 || slices.ContainsFunc(w.guards, func(g []string) bool {
		return len(g) <= len(a.path) && slices.Equal(g, a.path[:len(g)])
	})
	w.scan.found(exportRead{path: a.path, optional: optional, at: at})
}

// guards returns the paths that a condition looks at, through local values too.
func (s *exportScan) guards(e hclsyntax.Expression) [][]string {
	var out [][]string
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		x, ok := n.(hclsyntax.Expression)
		if !ok {
			return nil
		}
		if a, ok := s.alias(x); ok && len(a.path) > 0 {
			out = append(out, a.path)
			return nil
		}
		t, ok := x.(*hclsyntax.ScopeTraversalExpr)
		if !ok || t.Traversal.RootName() != "local" || len(t.Traversal) < 2 {
			return nil
		}
		if name, ok := t.Traversal[1].(hcl.TraverseAttr); ok {
			out = append(out, s.localGuards(name.Name)...)
		}
		return nil
	})
	return out
}

func (s *exportScan) localGuards(name string) [][]string {
	if g, known := s.looks[name]; known {
		return g
	}
	s.looks[name] = nil // a local that refers to itself ends here
	l := s.m.Local(name)
	if l == nil {
		return nil
	}
	var out [][]string
	for _, e := range syntax(l.Expr) {
		out = append(out, s.guards(e)...)
	}
	s.looks[name] = out
	return out
}
