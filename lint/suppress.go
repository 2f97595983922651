package lint

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/captf-toolkit/captf/sdk/module"
)

// SuppressionID is the check on suppression comments. The engine makes it.
const SuppressionID = "lint/suppression"

// directive starts a comment that allows findings:
//
//	# tfcapi-lint:ignore ID[,ID] reason
//
// Alone on its line it is for the argument or block that follows, else for its
// own line. A reason is mandatory. It turns warnings into info that say why, as
// --allow-warning does; errors stay. JSON syntax has no comments, so that a
// module in it is allowed things on the command line or in the configuration.
const (
	directivePrefix = "tfcapi-lint:"
	directive       = directivePrefix + "ignore"
)

// suppression is one comment.
type suppression struct {
	at          hcl.Range
	ids         []string
	reason      string
	first, last int
	used        map[string]bool
	onlyErrors  map[string]bool
}

// suppress applies the comments of the module to the findings and adds what is
// wrong with the comments themselves.
func suppress(c *Context, rules []Rule, findings []Finding) []Finding {
	own := &Rule{ID: SuppressionID}
	c.rule, c.findings = own, nil
	var all []*suppression
	for _, f := range suppressible(c, findings) {
		all = append(all, readSuppressions(c, f)...)
	}
	for i := range findings {
		for _, s := range all {
			s.apply(&findings[i])
		}
	}
	for _, s := range all {
		s.review(c, rules)
	}
	slices.SortFunc(c.findings, compareFindings)
	return append(findings, c.findings...)
}

// suppressible returns the files whose comments count: those of the view that
// was checked, and any other file that has a finding.
func suppressible(c *Context, findings []Finding) []*module.File {
	names := map[string]bool{}
	for _, m := range c.Modules() {
		for _, f := range m.Files {
			names[f.Name] = true
		}
	}
	for _, f := range findings {
		names[f.File] = true
	}
	var files []*module.File
	for _, f := range c.Tree.Files {
		if names[f.Name] && !f.JSON && bytes.Contains(f.Bytes, []byte(directivePrefix)) {
			files = append(files, f)
		}
	}
	return files
}

func readSuppressions(c *Context, f *module.File) []*suppression {
	tokens, _ := hclsyntax.LexConfig(f.Bytes, f.Name, hcl.InitialPos) // the file was parsed, so it has no lexical error
	var out []*suppression
	codeLine := 0 // the last line on which something other than a comment stands
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenNewline, hclsyntax.TokenEOF:
			continue
		case hclsyntax.TokenComment:
		default:
			codeLine = t.Range.End.Line
			continue
		}
		text, ok := directiveText(t.Bytes)
		if !ok {
			continue
		}
		at := t.Range
		if at.End.Line > at.Start.Line { // a line comment includes its line end
			at.End = at.Start
			at.End.Column += len(bytes.TrimRight(t.Bytes, "\r\n"))
		}
		s := parseDirective(c, at, text)
		if s == nil {
			continue
		}
		if codeLine == at.Start.Line {
			s.first, s.last = codeLine, codeLine
		} else {
			s.first, s.last = following(f, tokens[i:])
		}
		out = append(out, s)
	}
	return out
}

// directiveText returns what follows the prefix in a comment.
func directiveText(comment []byte) (string, bool) {
	s := strings.TrimSpace(string(comment))
	switch {
	case strings.HasPrefix(s, "/*"):
		s = strings.TrimSuffix(strings.TrimPrefix(s, "/*"), "*/")
	case strings.HasPrefix(s, "//"):
		s = s[2:]
	default:
		s = strings.TrimLeft(s, "#")
	}
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, directivePrefix) {
		return "", false
	}
	return s, true
}

// parseDirective reads a comment that starts with the prefix; what is wrong
// with it is reported, and then it allows nothing.
func parseDirective(c *Context, at hcl.Range, text string) *suppression {
	const form = "write `# " + directive + " ID[,ID] reason`"
	fields := strings.Fields(text)
	if fields[0] != directive {
		c.Warnf(at, form, "the comment %s is no directive of this linter", quoteShort(fields[0]))
		return nil
	}
	if len(fields) == 1 {
		c.Warnf(at, form, "the comment names no check to ignore")
		return nil
	}
	ids := strings.FieldsFunc(fields[1], func(r rune) bool { return r == ',' })
	n := 2
	for n < len(fields) && (strings.HasSuffix(fields[n-1], ",") || strings.HasPrefix(fields[n], ",")) {
		ids = append(ids, strings.FieldsFunc(fields[n], func(r rune) bool { return r == ',' })...)
		n++
	}
	if len(ids) == 0 {
		c.Warnf(at, form, "the comment names no check to ignore")
		return nil
	}
	if n == len(fields) {
		c.Warnf(at, "say after the ID why the finding is fine",
			"the comment ignores %s without a reason, so it ignores nothing", strings.Join(ids, ", "))
		return nil
	}
	return &suppression{
		at: at, ids: ids, reason: strings.Join(fields[n:], " "),
		used: map[string]bool{}, onlyErrors: map[string]bool{},
	}
}

// following returns the lines of the argument or block that comes after a
// comment, whose tokens start with that comment.
func following(f *module.File, tokens hclsyntax.Tokens) (first, last int) {
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenComment, hclsyntax.TokenNewline:
			continue
		case hclsyntax.TokenEOF:
			return 0, 0
		}
		body, ok := f.HCL.Body.(*hclsyntax.Body)
		if !ok {
			return t.Range.Start.Line, t.Range.Start.Line
		}
		return elementAt(body, t.Range.Start.Line)
	}
	return 0, 0
}

// elementAt returns the lines of the outermost argument or block that starts on a line.
func elementAt(body *hclsyntax.Body, line int) (first, last int) {
	for _, a := range body.Attributes {
		if r := a.SrcRange; r.Start.Line == line {
			return line, r.End.Line
		}
	}
	for _, b := range body.Blocks {
		r := hcl.RangeBetween(b.TypeRange, b.CloseBraceRange)
		switch {
		case r.Start.Line == line:
			return line, r.End.Line
		case r.Start.Line < line && line <= r.End.Line:
			return elementAt(b.Body, line)
		}
	}
	return line, line
}

// apply allows the finding if the comment is for it.
func (s *suppression) apply(f *Finding) {
	if f.File != s.at.Filename || f.Line < s.first || f.Line > s.last || !slices.Contains(s.ids, f.ID) {
		return
	}
	if f.Severity == SeverityError {
		s.onlyErrors[f.ID] = true
		return
	}
	s.used[f.ID] = true
	if f.Allowed == "" {
		f.Severity, f.Allowed = SeverityInfo, s.reason
	}
}

// review reports what is wrong with a comment.
func (s *suppression) review(c *Context, rules []Rule) {
	for _, id := range s.ids {
		_, known := Find(rules, id)
		switch {
		case !known:
			c.Warnf(s.at, "`tfcapi-lint --list` lists the checks", "the comment ignores %s, but there is no such check", quoteShort(id))
		case s.used[id]:
		case s.onlyErrors[id]:
			c.Warnf(s.at, "fix the error and remove the comment", "the comment ignores %s, but it is an error here, and errors cannot be ignored", id)
		default:
			c.Warnf(s.at, "remove it, or put it on the line of the finding or right above its argument or block", "the comment ignores %s, which does not fire here", id)
		}
	}
}

// quoteShort quotes text of the user, cut so that a message stays readable.
func quoteShort(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
