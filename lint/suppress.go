package lint

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
// --allow-warning does; errors stay. It may be a line of a block comment. JSON syntax has no comments, so that a
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
	// repeats has the line of the comment that allows the same findings already.
	repeats map[string]int
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
	fires := map[string][]Severity{}
	for i := range findings {
		fires[findings[i].ID] = append(fires[findings[i].ID], findings[i].Severity)
		var by *suppression
		for _, s := range all {
			if s.apply(&findings[i], by) {
				by = s
			}
		}
	}
	for _, s := range all {
		s.review(c, rules, fires)
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
		for _, d := range directives(t) {
			s := parseDirective(c, d.at, d.text)
			if s == nil {
				continue
			}
			if codeLine == d.at.Start.Line {
				s.first, s.last = codeLine, codeLine
			} else {
				s.first, s.last = following(f, tokens[i:])
			}
			out = append(out, s)
		}
	}
	return out
}

// found is a line of a comment that starts with the prefix.
type found struct {
	at   hcl.Range
	text string
}

// directives returns the lines of a comment that start with the prefix. A block
// comment may have several, with or without an asterisk in front.
func directives(comment hclsyntax.Token) []found {
	var out []found
	block := bytes.HasPrefix(comment.Bytes, []byte("/*"))
	start := comment.Range.Start
	for _, line := range strings.SplitAfter(string(comment.Bytes), "\n") {
		text := strings.TrimSpace(line)
		if block {
			text = strings.TrimSuffix(strings.TrimLeft(strings.TrimPrefix(text, "/"), "* \t"), "*/")
		} else {
			text = strings.TrimLeft(text, "#/")
		}
		end := start
		end.Column += utf8.RuneCountInString(strings.TrimRight(line, "\r\n"))
		end.Byte += len(strings.TrimRight(line, "\r\n"))
		if text = strings.TrimSpace(text); strings.HasPrefix(text, directivePrefix) {
			out = append(out, found{hcl.Range{Filename: comment.Range.Filename, Start: start, End: end}, text})
		}
		start = hcl.Pos{Line: start.Line + 1, Column: 1, Byte: start.Byte + len(line)}
	}
	return out
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
	reason := strings.Join(fields[n:], " ")
	if !strings.ContainsFunc(reason, unicode.IsLetter) {
		c.Warnf(at, "say after the ID why the finding is fine, in words",
			"the comment ignores %s without a reason, so it ignores nothing", strings.Join(ids, ", "))
		return nil
	}
	s := &suppression{
		at: at, reason: reason,
		used: map[string]bool{}, onlyErrors: map[string]bool{}, repeats: map[string]int{},
	}
	for _, id := range ids {
		if slices.Contains(s.ids, id) {
			c.Warnf(at, "name it once", "the comment names %s twice", quoteShort(id))
			continue
		}
		s.ids = append(s.ids, id)
	}
	return s
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

// apply allows the finding if the comment is for it, unless another comment did
// already; it tells whether it did.
func (s *suppression) apply(f *Finding, by *suppression) bool {
	if f.File != s.at.Filename || f.Line < s.first || f.Line > s.last || !slices.Contains(s.ids, f.ID) {
		return false
	}
	switch {
	case f.Severity == SeverityError:
		s.onlyErrors[f.ID] = true
		return false
	case by != nil:
		s.repeats[f.ID] = by.at.Start.Line
		return false
	}
	s.used[f.ID] = true
	f.Severity, f.Allowed = SeverityInfo, s.reason
	return true
}

// review reports what is wrong with a comment; fires has the severities with
// which each check fires anywhere in the module.
func (s *suppression) review(c *Context, rules []Rule, fires map[string][]Severity) {
	for _, id := range s.ids {
		_, known := Find(rules, id)
		switch {
		case !known:
			c.Warnf(s.at, "`tfcapi-lint --list` lists the checks", "the comment ignores %s, but there is no such check", quoteShort(id))
		case s.used[id]:
		case s.onlyErrors[id]:
			c.Warnf(s.at, "fix the error and remove the comment", "the comment ignores %s, but it is an error here, and errors cannot be accepted", id)
		case s.repeats[id] > 0:
			c.Warnf(s.at, "remove one of the two", "the comment ignores %s, which the comment on line %d does already", id, s.repeats[id])
		case len(fires[id]) > 0 && !slices.ContainsFunc(fires[id], func(v Severity) bool { return v != SeverityError }):
			c.Warnf(s.at, "fix the error and remove the comment", "the comment ignores %s, which is an error in this module, and errors cannot be accepted", id)
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
