package fix

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// byteOrderMark may start a file; it is kept.
var byteOrderMark = []byte("\xef\xbb\xbf")

// file is one file while it is edited: without byte order mark, and with plain
// line feeds if it had nothing but carriage returns and line feeds.
type file struct {
	name      string
	original  []byte
	exists    bool
	mark      bool
	crlf      bool
	formatted bool
	syntax    *hclwrite.File
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
	f.formatted = bytes.Equal(hclwrite.Format(text), text)
	syntax, diags := hclwrite.ParseConfig(text, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, fmt.Errorf("parsing %s: %w", name, diags)
	}
	f.syntax = syntax
	return f, nil
}

func (f *file) did(format string, args ...any) { f.done = append(f.done, fmt.Sprintf(format, args...)) }

// bytes returns the edited file. It is formatted if it was before; the layout
// of others is their authors' business, and only what is new is laid out.
func (f *file) bytes() []byte {
	text := f.syntax.BuildTokens(nil).Bytes()
	if f.formatted {
		text = hclwrite.Format(text)
	}
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
	if a := body.GetAttribute(name); a != nil {
		setExpr(body, name, hclwrite.TokensForValue(cty.True))
		return
	}
	if onOneLine(body) {
		for n, a := range body.Attributes() { // at most one
			tokens := a.Expr().BuildTokens(nil)
			body.RemoveAttribute(n)
			body.AppendNewline()
			body.SetAttributeRaw(n, tokens)
			layOut(body.GetAttribute(n))
		}
		if len(body.Attributes()) == 0 {
			body.AppendNewline()
		}
	}
	layOut(body.SetAttributeValue(name, cty.True))
}

// layOut spaces the tokens of a new argument.
func layOut(a *hclwrite.Attribute) {
	const indent = 2
	for i, t := range a.BuildTokens(nil) {
		switch {
		case i == 0:
			t.SpacesBefore = indent
		case i == 1 || i == 2: // the equals sign and what follows
			t.SpacesBefore = 1
		}
	}
}

// setExpr replaces the expression of an argument; the space before it stays.
func setExpr(body *hclwrite.Body, name string, expr hclwrite.Tokens) {
	old := body.GetAttribute(name).Expr().BuildTokens(nil)
	spaces := old[0].SpacesBefore
	old[0].SpacesBefore = 0
	expr[0].SpacesBefore = spaces
	body.SetAttributeRaw(name, expr)
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
