package docs

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// block is a fenced block of a page with what its info string asks for.
type block struct {
	line   int    // of its first line of content
	lang   string // the info string's first word
	body   string
	action action
	repo   bool   // run in a copy of the repository instead of an empty directory
	exit   int    // the exit code a command must end with
	file   string // where to write the body
	reason string // why a command is not run
}

// action is what the tests do with a block.
type action int

const (
	show   action = iota // nothing: it is for reading only
	run                  // run it as a script
	skip                 // it is a command that is not run, for a reason
	expect               // compare it with what the command above it printed
	write                // write it into the scratch directory
)

// shells are the languages of commands. A page uses sh; the others are known so that no command escapes by its name.
var shells = map[string]bool{"sh": true, "bash": true, "shell": true, "zsh": true, "console": true, "terminal": true}

// parseInfo reads an info string. The grammar, after the language:
//
//	sh test [repo] [exit=N]
//	sh skip: REASON
//	text expected
//	LANGUAGE [file=PATH]
func parseInfo(info string) (block, error) {
	lang, rest, _ := strings.Cut(strings.TrimSpace(info), " ")
	b := block{lang: lang}
	rest = strings.TrimSpace(rest)
	if lang == "" {
		return b, errors.New("a block needs a language, at least text")
	}
	if reason, ok := strings.CutPrefix(rest, "skip:"); ok {
		b.action, b.reason = skip, strings.TrimSpace(reason)
		if lang != "sh" {
			return b, fmt.Errorf("only sh blocks can be skipped, this is %s", lang)
		}
		if b.reason == "" {
			return b, errors.New("skipping needs a reason: sh skip: REASON")
		}
		return b, nil
	}
	for word := range strings.FieldsSeq(rest) {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case word == "test" && lang == "sh":
			b.action = run
		case word == "repo" && b.action == run:
			b.repo = true
		case key == "exit" && b.action == run:
			code, err := strconv.Atoi(value)
			if err != nil || code < 0 || code > 255 {
				return b, fmt.Errorf("exit=%s is no exit code", value)
			}
			b.exit = code
		case word == "expected" && lang == "text":
			b.action = expect
		case key == "file" && !shells[lang]:
			if !filepath.IsLocal(value) {
				return b, fmt.Errorf("file=%s does not stay in the scratch directory", value)
			}
			b.action, b.file = write, value
		default:
			return b, fmt.Errorf("unknown word %q in the info string %q", word, info)
		}
	}
	if shells[lang] && b.action == show {
		return b, fmt.Errorf("a command is marked %q, or %q if it cannot be run here", "sh test", "sh skip: REASON")
	}
	return b, nil
}

// page is a parsed page.
type page struct {
	blocks  []block
	links   []link
	anchors map[string]bool
	errs    []string // with their lines
}

// link is a link or an image of a page.
type link struct {
	line   int
	target string
}

var htmlAnchor = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)

// parsePage finds the blocks, links and anchors of a page.
func parsePage(source []byte) page {
	p := page{anchors: map[string]bool{}}
	lineOf := func(offset int) int { return 1 + strings.Count(string(source[:offset]), "\n") }
	fail := func(line int, err error) { p.errs = append(p.errs, fmt.Sprintf("line %d: %v", line, err)) }
	slugs := map[string]int{}
	position := 0 // of the last text seen, for nodes that know no place of their own

	// The walker returns no error, so that Walk has none to return.
	_ = ast.Walk(goldmark.New().Parser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			position = n.Lines().At(0).Start
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			info := ""
			if n.Info != nil {
				info = string(n.Info.Value(source))
				position = n.Info.Segment.Start
			}
			b, err := parseInfo(info)
			b.line = lineOf(position)
			if n.Info != nil {
				b.line++
			}
			b.body = string(n.Lines().Value(source))
			if b.action == expect && (len(p.blocks) == 0 || p.blocks[len(p.blocks)-1].action != run) {
				err = errors.New("expected output must follow the block that prints it")
			}
			if err != nil {
				fail(b.line, err)
			}
			p.blocks = append(p.blocks, b)
		case *ast.CodeBlock:
			fail(lineOf(position), errors.New("an indented block has no language: use a fenced one"))
		case *ast.Text:
			position = n.Segment.Start
		case *ast.Link:
			p.links = append(p.links, link{lineOf(start(n, position)), string(n.Destination)})
		case *ast.Image:
			p.links = append(p.links, link{lineOf(start(n, position)), string(n.Destination)})
		case *ast.Heading:
			slug := slug(headingText(n, source))
			if count := slugs[slug]; count > 0 {
				p.anchors[fmt.Sprintf("%s-%d", slug, count)] = true
			}
			p.anchors[slug] = true
			slugs[slug]++
		case *ast.RawHTML:
			p.addHTMLAnchors(string(n.Segments.Value(source)))
		case *ast.HTMLBlock:
			p.addHTMLAnchors(string(n.Lines().Value(source)))
		}
		return ast.WalkContinue, nil
	})
	return p
}

func (p *page) addHTMLAnchors(html string) {
	for _, m := range htmlAnchor.FindAllStringSubmatch(html, -1) {
		p.anchors[m[1]] = true
	}
}

// start is where the text of a link begins, or what is given if it has none.
func start(n ast.Node, otherwise int) int {
	if t, ok := n.FirstChild().(*ast.Text); ok {
		return t.Segment.Start
	}
	return otherwise
}

// headingText is a heading without its markup.
func headingText(n ast.Node, source []byte) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Text:
			b.Write(child.Segment.Value(source))
		default:
			b.WriteString(headingText(child, source))
		}
	}
	return b.String()
}

var notInSlug = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_\- ]`)

// slug is the anchor that forges give a heading.
func slug(heading string) string {
	return strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// matches tells whether output is what a page expects. "..." stands for anything: alone on a line for any number of
// lines, else for any text in the line. Spaces at line ends and empty lines at the ends do not count.
func matches(expected, output string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for _, line := range trimmedLines(expected) {
		if strings.TrimSpace(line) == "..." {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		for i, part := range strings.Split(line, "...") {
			if i > 0 {
				pattern.WriteString(`.*?`)
			}
			pattern.WriteString(regexp.QuoteMeta(part))
		}
		pattern.WriteString(`\n`)
	}
	pattern.WriteString(`\z`)
	return regexp.MustCompile(pattern.String()).MatchString(strings.Join(trimmedLines(output), "\n") + "\n")
}

func trimmedLines(s string) []string {
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return lines
}
