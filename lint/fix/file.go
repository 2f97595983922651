package fix

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// byteOrderMark may start a file; it is kept.
var byteOrderMark = []byte("\xef\xbb\xbf")

// file is one file while it is edited: without byte order mark, and with plain
// line feeds if it had nothing but carriage returns and line feeds. Edits are
// made block by block, so that everything else keeps its layout.
type file struct {
	name     string
	original []byte
	exists   bool
	mark     bool
	crlf     bool
	text     []byte
	// appended are blocks to add at the end.
	appended []string
	done     []string
}

func parse(name string, content []byte) (*file, error) {
	f := &file{name: name, original: content}
	text, mark := bytes.CutPrefix(content, byteOrderMark)
	f.mark = mark
	lines := bytes.Count(text, []byte("\n"))
	if lines > 0 && bytes.Count(text, []byte("\r\n")) == lines {
		f.crlf = true
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	if _, diags := hclsyntax.ParseConfig(text, name, hcl.InitialPos); diags.HasErrors() {
		return nil, fmt.Errorf("parsing %s: %w", name, diags)
	}
	f.text = text
	return f, nil
}

// copy returns the file as it is now, to go back to.
func (f *file) copy() file {
	old := *f
	old.appended, old.done = slices.Clone(f.appended), slices.Clone(f.done)
	return old
}

// edit changes a block in place and lays it out anew. On an error, or when the
// result would not parse, the file stays as it was.
func (f *file) edit(blockType, label string, change func(*hclwrite.Block) error) error {
	start, end, ok := f.find(blockType, label)
	if !ok {
		return fmt.Errorf("the block is not in %s", f.name)
	}
	syntax, diags := hclwrite.ParseConfig(f.text[start:end], f.name, hcl.InitialPos)
	if diags.HasErrors() || len(syntax.Body().Blocks()) != 1 {
		return fmt.Errorf("the block in %s cannot be edited", f.name)
	}
	if err := change(syntax.Body().Blocks()[0]); err != nil {
		return err
	}
	edited := bytes.TrimRight(hclwrite.Format(syntax.BuildTokens(nil).Bytes()), "\n")
	result := slices.Concat(f.text[:start], edited, f.text[end:])
	if _, diags := hclsyntax.ParseConfig(result, f.name, hcl.InitialPos); diags.HasErrors() {
		return fmt.Errorf("the expression in %s is written in a way that cannot be edited; edit it by hand", f.name)
	}
	f.text = result
	return nil
}

// find returns where a block starts and ends. The end is found by counting
// braces: hcl gives a wrong one for a block on one line.
func (f *file) find(blockType, label string) (start, end int, ok bool) {
	parsed, _ := hclsyntax.ParseConfig(f.text, f.name, hcl.InitialPos) // it parsed before, and edits parse
	body, isNative := parsed.Body.(*hclsyntax.Body)
	if !isNative {
		return 0, 0, false
	}
	start = -1
	for _, b := range body.Blocks {
		if b.Type == blockType && len(b.Labels) == 1 && b.Labels[0] == label {
			start = b.TypeRange.Start.Byte
			break
		}
	}
	if start < 0 {
		return 0, 0, false
	}
	tokens, _ := hclsyntax.LexConfig(f.text, f.name, hcl.InitialPos)
	depth := 0
	for _, t := range tokens {
		if t.Range.Start.Byte < start {
			continue
		}
		switch t.Type {
		case hclsyntax.TokenOBrace:
			depth++
		case hclsyntax.TokenCBrace:
			if depth--; depth == 0 {
				return start, t.Range.End.Byte, true
			}
		}
	}
	return 0, 0, false
}

// bytes returns the edited file.
func (f *file) bytes() []byte {
	text := f.text
	for _, block := range f.appended {
		if len(bytes.TrimSpace(text)) > 0 {
			text = append(bytes.TrimRight(text, " \t\r\n"), "\n\n"...)
		} else {
			text = nil
		}
		text = append(text, block...)
	}
	if f.crlf {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	if f.mark {
		text = append(bytes.Clone(byteOrderMark), text...)
	}
	return text
}

// setTrue sets an argument of a block to true. A block on one line is opened up
// first, since it may hold one argument only.
func setTrue(block *hclwrite.Block, name string) {
	body := block.Body()
	if body.GetAttribute(name) == nil && onOneLine(body) {
		for n, a := range body.Attributes() { // at most one
			tokens := a.Expr().BuildTokens(nil)
			body.RemoveAttribute(n)
			body.AppendNewline()
			body.SetAttributeRaw(n, tokens)
		}
		if len(body.Attributes()) == 0 {
			body.AppendNewline()
		}
	}
	body.SetAttributeValue(name, cty.True)
}

func onOneLine(body *hclwrite.Body) bool {
	for _, t := range body.BuildTokens(nil) {
		if t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenComment && bytes.HasSuffix(t.Bytes, []byte("\n")) {
			return false
		}
	}
	return true
}

func text(s string) cty.Value { return cty.StringVal(s) }
