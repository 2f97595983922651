package module_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/sdk/module"
)

// cases lists the case folders of a group, or of all with "*".
func cases(t testing.TB, group string) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", group, "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases in testdata/%s: %v", group, err)
	}
	var out []string
	for _, d := range dirs {
		if info, err := os.Stat(d); err != nil || !info.IsDir() || strings.Contains(d, "fuzz") {
			continue
		}
		rel, _ := filepath.Rel("testdata", d)
		out = append(out, filepath.ToSlash(rel))
	}
	return out
}

func caseDir(name string) string { return filepath.Join("testdata", filepath.FromSlash(name)) }

// TestValid compares what is loaded with want.json in each folder of
// testdata/valid, testdata/features and testdata/escapes.
func TestValid(t *testing.T) {
	for _, group := range []string{"valid", "features", "escapes"} {
		for _, name := range cases(t, group) {
			t.Run(name, func(t *testing.T) {
				tree, err := module.Load(caseDir(name), module.Options{})
				if err != nil {
					t.Fatal(err)
				}
				data, err := json.MarshalIndent(treeSummary(tree), "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				golden.Assert(t, filepath.Join(caseDir(name), "want.json"), append(data, '\n'))
			})
		}
	}
}

// TestInvalid compares the error with want.txt in each folder of
// testdata/invalid.
func TestInvalid(t *testing.T) {
	for _, name := range cases(t, "invalid") {
		t.Run(name, func(t *testing.T) {
			_, err := module.Load(caseDir(name), module.Options{})
			if err == nil {
				t.Fatal("loads")
			}
			golden.Assert(t, filepath.Join(caseDir(name), "want.txt"), []byte(filepath.ToSlash(err.Error())+"\n"))
		})
	}
}

type object = map[string]any

// add sets what is not empty.
func add(o object, key string, val any) {
	if v := reflect.ValueOf(val); v.IsValid() && !v.IsZero() && (v.Kind() != reflect.Slice && v.Kind() != reflect.Map || v.Len() > 0) {
		o[key] = val
	}
}

func treeSummary(t *module.Tree) object {
	out := object{"primary": t.Primary.Runtime}
	var files []string
	for _, f := range t.Files {
		files = append(files, f.Name)
	}
	out["files"] = files
	var escapes []object
	for _, e := range t.Escapes {
		escapes = append(escapes, object{"kind": e.Kind, "call": e.Call, "source": e.Source, "target": e.Target, "at": at(e.Range), "runtimes": e.Runtimes})
	}
	add(out, "escapes", escapes)
	add(out, "warnings", messages(t.Warnings))
	views := [2]object{}
	for i, r := range module.Runtimes() {
		for _, m := range t.Modules(r) {
			if views[i] == nil {
				views[i] = object{}
			}
			views[i][m.Dir] = moduleSummary(m)
		}
	}
	switch {
	case reflect.DeepEqual(views[0], views[1]):
		out["both"] = views[0]
	default:
		add(out, "terraform", views[0])
		add(out, "opentofu", views[1])
	}
	return out
}

func at(r hcl.Range) string {
	return fmt.Sprintf("%s:%d:%d", r.Filename, r.Start.Line, r.Start.Column)
}

func messages(diags hcl.Diagnostics) []string {
	var out []string
	for _, d := range diags {
		out = append(out, at(*d.Subject)+": "+module.Message(d))
	}
	return out
}

func moduleSummary(m *module.Module) object {
	out := object{}
	var files, hidden []string
	for _, f := range m.Files {
		files = append(files, f.Name)
	}
	for _, f := range m.Hidden {
		hidden = append(hidden, f.Name)
	}
	add(out, "files", files)
	add(out, "hidden", hidden)
	add(out, "variables", named(m.Variables, func(v *module.Variable) (string, object) { return v.Name, variableSummary(v) }))
	add(out, "outputs", named(m.Outputs, func(o *module.Output) (string, object) { return o.Name, outputSummary(o) }))
	add(out, "locals", named(m.Locals, func(l *module.Local) (string, object) {
		return l.Name, object{"at": at(l.Range), "value": at(l.Expr.Range())}
	}))
	add(out, "resources", named(m.Resources, func(r *module.Resource) (string, object) { return r.Address(), resourceSummary(r) }))
	add(out, "calls", named(m.Calls, func(c *module.ModuleCall) (string, object) { return c.Name, callSummary(c) }))
	add(out, "providers", named(m.Providers, func(p *module.Provider) (string, object) {
		o := blockSummary(&p.Block)
		return p.Name + "." + p.Alias, o
	}))
	add(out, "requiredProviders", named(m.RequiredProviders, func(p *module.RequiredProvider) (string, object) {
		o := object{"at": at(p.Range), "address": p.Address(m.Runtime)}
		add(o, "source", p.Source)
		add(o, "version", p.Version)
		var aliases []string
		for _, a := range p.Aliases {
			aliases = append(aliases, a.Name+"."+a.Alias)
		}
		add(o, "aliases", aliases)
		return p.Name, o
	}))
	var versions []object
	for _, v := range m.Versions {
		versions = append(versions, object{"raw": v.Raw, "argument": v.Argument, "at": at(v.Range), "effective": v.Effective})
	}
	add(out, "versions", versions)
	for key, list := range map[string][]*module.Block{
		"backends": m.Backends, "clouds": m.Clouds, "moved": m.Moved, "removed": m.Removed, "imports": m.Imports, "settings": m.Settings,
	} {
		var blocks []object
		for _, b := range list {
			blocks = append(blocks, blockSummary(b))
		}
		add(out, key, blocks)
	}
	add(out, "checks", named(m.Checks, func(c *module.Check) (string, object) {
		o := blockSummary(&c.Block)
		o["asserts"] = len(c.Asserts)
		if c.Data != nil {
			o["data"] = c.Data.Address()
		}
		return c.Name, o
	}))
	var features []string
	for _, f := range m.Features {
		features = append(features, f.ID+" "+at(f.Range))
	}
	add(out, "features", features)
	add(out, "unsupported", messages(m.Unsupported))
	var refs []string
	for _, r := range m.References() {
		refs = append(refs, fmt.Sprintf("%s %s %s", at(r.Range()), traversal(r.Traversal), owner(r.Owner)))
	}
	add(out, "references", refs)
	return out
}

func named[T any](list []T, f func(T) (string, object)) object {
	out := object{}
	for _, x := range list {
		name, o := f(x)
		out[name] = o
	}
	return out
}

func blockSummary(b *module.Block) object {
	out := object{"at": at(b.DefRange), "end": fmt.Sprintf("%d:%d", b.Range.End.Line, b.Range.End.Column), "type": b.Type}
	add(out, "labels", b.Labels)
	var overrides []string
	for _, r := range b.Overrides {
		overrides = append(overrides, at(r))
	}
	add(out, "overrides", overrides)
	attrs := object{}
	for name, a := range b.Attributes {
		attrs[name] = at(a.Range)
	}
	add(out, "arguments", attrs)
	body := object{}
	b.Body.Walk(func(path []string, a *hcl.Attribute) {
		body[strings.Join(append(slices.Clone(path), a.Name), ".")] = at(a.Range)
	})
	add(out, "body", body)
	return out
}

func variableSummary(v *module.Variable) object {
	out := blockSummary(&v.Block)
	delete(out, "body")
	if v.HasType {
		out["type"] = typeexpr.TypeString(v.Type)
	} else {
		delete(out, "type")
	}
	if v.HasDefault {
		val, err := ctyjson.Marshal(v.Default, v.Default.Type())
		if err != nil {
			panic(err)
		}
		out["default"] = json.RawMessage(val)
		out["defaultType"] = typeexpr.TypeString(v.Default.Type())
	}
	add(out, "description", v.Description)
	add(out, "sensitive", v.Sensitive)
	add(out, "ephemeral", v.Ephemeral)
	add(out, "deprecated", v.Deprecated)
	out["nullable"] = v.Nullable
	add(out, "validations", len(v.Validations))
	return out
}

func outputSummary(o *module.Output) object {
	out := blockSummary(&o.Block)
	delete(out, "body")
	if o.Value != nil {
		out["value"] = at(o.Value.Range())
	}
	add(out, "description", o.Description)
	add(out, "sensitive", o.Sensitive)
	add(out, "ephemeral", o.Ephemeral)
	add(out, "deprecated", o.Deprecated)
	add(out, "preconditions", len(o.Preconditions))
	return out
}

func resourceSummary(r *module.Resource) object {
	out := blockSummary(&r.Block)
	lc := object{}
	add(lc, "createBeforeDestroy", r.Lifecycle.CreateBeforeDestroy)
	if a := r.Lifecycle.PreventDestroy; a != nil {
		lc["preventDestroy"] = at(a.Range)
	}
	add(lc, "ignoreAll", r.Lifecycle.IgnoreAll)
	var ignored []string
	for _, tr := range r.Lifecycle.IgnoreChanges {
		ignored = append(ignored, traversal(tr))
	}
	add(lc, "ignoreChanges", ignored)
	add(lc, "replaceTriggeredBy", len(r.Lifecycle.ReplaceTriggeredBy))
	add(lc, "preconditions", len(r.Lifecycle.Preconditions))
	add(lc, "postconditions", len(r.Lifecycle.Postconditions))
	add(out, "lifecycle", lc)
	var provisioners []object
	for _, p := range r.Provisioners {
		o := blockSummary(&p.Block)
		add(o, "destroy", p.Destroy)
		add(o, "continue", p.Continue)
		provisioners = append(provisioners, o)
	}
	add(out, "provisioners", provisioners)
	if r.Provider != nil {
		out["provider"] = r.Provider.Name + "." + r.Provider.Alias
	}
	if r.InCheck != nil {
		out["check"] = r.InCheck.Name
	}
	return out
}

func callSummary(c *module.ModuleCall) object {
	out := blockSummary(&c.Block)
	delete(out, "body")
	out["source"], out["kind"] = c.Source, c.Kind
	if c.Module != nil {
		out["module"] = c.Module.Dir
	}
	args := object{}
	for name, a := range c.Args {
		args[name] = at(a.Range)
	}
	add(out, "args", args)
	var providers []string
	for _, p := range c.Providers {
		providers = append(providers, fmt.Sprintf("%s.%s = %s.%s", p.InChild.Name, p.InChild.Alias, p.InParent.Name, p.InParent.Alias))
	}
	add(out, "providers", providers)
	return out
}

func owner(o module.Owner) string {
	name := ""
	switch {
	case o.Variable != nil:
		name = o.Variable.Name
	case o.Local != nil:
		name = o.Local.Name
	case o.Output != nil:
		name = o.Output.Name
	case o.Resource != nil:
		name = o.Resource.Address()
	case o.Call != nil:
		name = o.Call.Name
	case o.Provider != nil:
		name = o.Provider.Name
	case o.Check != nil:
		name = o.Check.Name
	}
	return fmt.Sprintf("in %s %s, %s", o.Kind, name, strings.Join(o.Path, "."))
}

// traversal writes a traversal as in source.
func traversal(tr hcl.Traversal) string {
	var b strings.Builder
	for i, step := range tr {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(s.Name)
		case hcl.TraverseAttr:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Name)
		case hcl.TraverseIndex:
			if s.Key.Type() == cty.String {
				fmt.Fprintf(&b, "[%q]", s.Key.AsString())
			} else {
				fmt.Fprintf(&b, "[%s]", s.Key.AsBigFloat().Text('f', -1))
			}
		}
	}
	return b.String()
}
