package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

var moduleTofuShadow = lint.Rule{
	ID:         "module/tofu-shadow",
	Severities: isWarning,
	Summary:    "`.tofu` files make OpenTofu load other declarations than Terraform, or a `.tf` file has a construct that Terraform refuses.",
	Why:        "The checks run on one set of files; the other runtime gets a module that nobody checked.",
	Fix:        "Make both agree, or ship one set. Differences in `required_version` alone are fine.",
	Bad: `# outputs.tf
output "extra" {
  value = 1
}

# outputs.tofu hides outputs.tf from OpenTofu and lacks the output`,
	Good: `# outputs.tf and no outputs.tofu
output "extra" {
  value = 1
}`,
	Rules: []string{"lint.md 3", "lint.md 9 L2"},
	Check: func(c *lint.Context) {
		compareViews(c, c.Tree.Terraform, c.Tree.OpenTofu, map[string]bool{})
		refusedByTerraform(c)
	},
}

// refusedByTerraform reports what stands in .tf files, which Terraform reads,
// though only OpenTofu knows it.
func refusedByTerraform(c *lint.Context) {
	if c.Tree.Terraform == nil || c.Root.Runtime == module.Terraform {
		return
	}
	for _, d := range c.Tree.Terraform.Unsupported {
		if d.Subject != nil {
			c.Warnf(*d.Subject, "move it into a .tofu file beside a .tf file that does without, or ship .tofu files only",
				"Terraform reads this file and refuses the module: %s", d.Detail)
		}
	}
}

// compareViews reports, for each .tofu file, the first declaration in which the
// two runtimes differ because of it.
func compareViews(c *lint.Context, tf, tofu *module.Module, seen map[string]bool) {
	if tf == nil || tofu == nil || seen[tofu.Dir] {
		return
	}
	seen[tofu.Dir] = true
	if hasTofu(tofu) {
		reportDifferences(c, declarations(c, tf), declarations(c, tofu), tofu)
	}
	for _, call := range tofu.Calls {
		if other := tf.Call(call.Name); other != nil {
			compareViews(c, other.Module, call.Module, seen)
		}
	}
}

func hasTofu(m *module.Module) bool {
	return slices.ContainsFunc(m.Files, func(f *module.File) bool { return f.Tofu })
}

// declaration is one thing that a runtime loads: its text without layout and
// comments, and the place of the part that counts.
type declaration struct {
	text string
	at   hcl.Range
}

func reportDifferences(c *lint.Context, tf, tofu map[string]declaration, m *module.Module) {
	first := map[string]lint.Problem{}
	note := func(at hcl.Range, format string, args ...any) {
		old, ok := first[at.Filename]
		if !ok || at.Start.Byte < old.At.Start.Byte {
			first[at.Filename] = lint.Problem{At: at, Message: fmt.Sprintf(format, args...)}
		}
	}
	for _, name := range sortedNames(tofu) {
		d := tofu[name]
		switch other, ok := tf[name]; {
		case ok && other.text == d.text:
		case ok:
			note(tofuSide(d, other, m), "OpenTofu loads another %s than Terraform", name)
		default:
			note(tofuSide(d, d, m), "OpenTofu loads %s, which Terraform does not", name)
		}
	}
	for _, name := range sortedNames(tf) {
		if _, ok := tofu[name]; !ok {
			note(tofuSide(tf[name], tf[name], m), "Terraform loads %s, which OpenTofu does not", name)
		}
	}
	for _, file := range sortedNames(first) {
		p := first[file]
		p.Severity, p.Remedy = lint.SeverityWarning, "make both agree, or ship one set of files"
		c.Report(p)
	}
}

// tofuSide returns the place in a .tofu file that makes the difference: that of
// the declaration itself, or the first line of the file that hides it.
func tofuSide(d, other declaration, m *module.Module) hcl.Range {
	for _, at := range []hcl.Range{d.at, other.at} {
		if strings.HasSuffix(at.Filename, ".tofu") || strings.HasSuffix(at.Filename, ".tofu.json") {
			return at
		}
	}
	twin := ""
	if i := strings.LastIndex(d.at.Filename, ".tf"); i >= 0 {
		twin = d.at.Filename[:i] + ".tofu" + strings.TrimPrefix(d.at.Filename[i:], ".tf")
	}
	for _, f := range m.Files {
		if f.Name == twin {
			return hcl.Range{Filename: twin, Start: hcl.InitialPos, End: hcl.InitialPos}
		}
	}
	for _, f := range m.Files {
		if f.Tofu {
			return hcl.Range{Filename: f.Name, Start: hcl.InitialPos, End: hcl.InitialPos}
		}
	}
	return d.at
}

// declarations returns what a runtime loads in one directory, by name.
func declarations(c *lint.Context, m *module.Module) map[string]declaration {
	out := map[string]declaration{}
	add := func(name string, b *module.Block) {
		text, merged := mergedText(c, b)
		at := b.DefRange
		for _, o := range b.Overrides {
			if !merged {
				text += "\n" + tokens(c, blockAt(c, o))
			}
			at = o
		}
		if old, ok := out[name]; ok { // moved, import and the like have no name
			text = old.text + "\n" + text
		}
		out[name] = declaration{text, at}
	}
	for _, v := range m.Variables {
		add("variable "+quote(v.Name), &v.Block)
	}
	for _, o := range m.Outputs {
		add("output "+quote(o.Name), &o.Block)
	}
	for _, r := range m.Resources {
		add(r.Address(), &r.Block)
	}
	for _, call := range m.Calls {
		add("module "+quote(call.Name), &call.Block)
	}
	for _, p := range m.Providers {
		add("provider "+quote(strings.TrimSuffix(p.Name+"."+p.Alias, ".")), &p.Block)
	}
	for _, ch := range m.Checks {
		add("check "+quote(ch.Name), &ch.Block)
	}
	for _, list := range [][]*module.Block{m.Backends, m.Clouds, m.Moved, m.Removed, m.Imports} {
		for _, b := range list {
			add("a "+b.Type+" block", b)
		}
	}
	for _, l := range m.Locals {
		out["local."+l.Name] = declaration{tokens(c, l.Range), l.Range}
	}
	for _, p := range m.RequiredProviders {
		out["required provider "+quote(p.Name)] = declaration{p.Source + " " + p.Version, p.Range}
	}
	return out
}

// blockText returns what a block says, without comments and layout.
func blockText(c *lint.Context, b *module.Block) string {
	if !b.JSON() {
		return tokens(c, b.Range)
	}
	var parts []string
	for _, attrs := range []hcl.Attributes{b.Attributes, b.Body.Attributes()} {
		for _, name := range sortedNames(attrs) {
			parts = append(parts, name+"="+sourceText(c, attrs[name].Expr.Range()))
		}
	}
	return strings.Join(parts, "\n")
}

func quote(s string) string { return `"` + s + `"` }

// mergedText returns what a block says once the blocks that override it are
// merged into it; merged is false when they cannot be, and it is the base alone.
func mergedText(c *lint.Context, b *module.Block) (text string, merged bool) {
	parts := map[string]string{}
	for _, header := range append([]hcl.Range{b.DefRange}, b.Overrides...) {
		block := nativeBlock(c, header)
		if block == nil || b.JSON() {
			return blockText(c, b), false
		}
		own := map[string]string{}
		blockParts(c, "", block.Body, own)
		maps.Copy(parts, own)
	}
	var out strings.Builder
	for _, name := range sortedNames(parts) {
		out.WriteString(name + ": " + parts[name] + "\n")
	}
	return out.String(), true
}

// blockParts adds the parts of a body that overriding replaces one by one: each
// argument, also in lifecycle, and all nested blocks of one type.
func blockParts(c *lint.Context, prefix string, body *hclsyntax.Body, parts map[string]string) {
	for _, name := range sortedNames(body.Attributes) {
		parts[prefix+name] = tokens(c, body.Attributes[name].Expr.Range())
	}
	for _, nested := range body.Blocks {
		if nested.Type == "lifecycle" {
			blockParts(c, prefix+"lifecycle.", nested.Body, parts)
			continue
		}
		parts[prefix+"block "+nested.Type] += tokens(c, nested.Range())
	}
}

// blockAt returns the whole block whose header lies at a range.
func blockAt(c *lint.Context, header hcl.Range) hcl.Range {
	if b := nativeBlock(c, header); b != nil {
		return b.Range()
	}
	return header
}

// nativeBlock returns the block whose header lies at a range, nil in JSON syntax.
func nativeBlock(c *lint.Context, header hcl.Range) *hclsyntax.Block {
	f := c.Tree.File(header.Filename)
	if f == nil {
		return nil
	}
	body, ok := f.HCL.Body.(*hclsyntax.Body)
	if !ok {
		return nil
	}
	for _, b := range body.Blocks {
		if b.TypeRange.Start.Byte == header.Start.Byte {
			return b
		}
	}
	return nil
}

// tokens returns the text of a range without comments and layout.
func tokens(c *lint.Context, r hcl.Range) string {
	text := []byte(sourceText(c, r))
	if module.IsJSON(r) {
		return string(text)
	}
	list, _ := hclsyntax.LexConfig(text, r.Filename, hcl.InitialPos)
	var b strings.Builder
	open := 0
	for _, t := range list {
		switch t.Type {
		case hclsyntax.TokenComment, hclsyntax.TokenNewline, hclsyntax.TokenEOF:
			continue
		case hclsyntax.TokenOBrace:
			open++
		case hclsyntax.TokenCBrace:
			open--
		}
		b.Write(t.Bytes)
		b.WriteByte(' ')
	}
	if open > 0 { // hcl leaves the closing brace out of the range of a block on one line
		b.WriteString("} ")
	}
	return b.String()
}
