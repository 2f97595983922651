package diagnose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mitchellh/go-wordwrap"
)

// TextOptions change how a diagnosis is written for people.
type TextOptions struct {
	// Colors puts colours into it.
	Colors bool
}

// width is how wide prose is written.
const width = 100

// mostObjects bounds lists of objects in text; JSON has them all.
const mostObjects = 6

// colours of the states.
var colours = map[State]string{StateOK: "32", StateWorking: "33", StateWaiting: "33", StateStuck: "31", StateNote: "36"}

// JSON writes the diagnosis as JSON; its schema is in docs/reference/diagnosis.schema.json.
func (d *Diagnosis) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(d)
}

// Text writes the verdict and the problems.
func (d *Diagnosis) Text(w io.Writer, o TextOptions) error {
	var b bytes.Buffer
	t := &textWriter{d: d, b: &b, o: o}
	t.verdict()
	for i, p := range d.Problems {
		t.problem(i+1, p)
	}
	t.notes()
	_, err := w.Write(b.Bytes())
	return err
}

// Tree writes the verdict, the tree of objects with their states, and what to do first.
func (d *Diagnosis) Tree(w io.Writer, o TextOptions) error {
	var b bytes.Buffer
	t := &textWriter{d: d, b: &b, o: o}
	t.verdict()
	b.WriteByte('\n')
	t.tree()
	if len(d.Problems) > 0 {
		t.problem(1, d.Problems[0])
	}
	if n := len(d.Problems) - 1; n > 0 {
		fmt.Fprintf(&b, "\n%d more: captf diagnose with --output text tells of them.\n", n)
	}
	t.notes()
	_, err := w.Write(b.Bytes())
	return err
}

type textWriter struct {
	d *Diagnosis
	b *bytes.Buffer
	o TextOptions
}

func (t *textWriter) paint(s State, text string) string {
	if !t.o.Colors {
		return text
	}
	return "\x1b[" + colours[s] + "m" + text + "\x1b[0m"
}

// verdict is the first line: all that who has no time needs.
func (t *textWriter) verdict() {
	d := t.d
	name := d.Cluster.Kind + " " + d.Cluster.Namespace + "/" + d.Cluster.Name
	switch d.Verdict {
	case VerdictHealthy:
		fmt.Fprintf(t.b, "%s is %s: %d objects, nothing is waited for.\n", name, t.paint(StateOK, "healthy"), len(d.Objects))
	case VerdictWorking:
		fmt.Fprintf(t.b, "%s is %s: it waits at the gate %q: %s; nothing has failed.\n", name, t.paint(StateWorking, "not there yet"), d.Problems[0].GateTitle, t.ref(d.Problems[0].Object))
	default:
		p := d.Problems[0]
		fmt.Fprintf(t.b, "%s is %s at the gate %q: %s%s.\n", name, t.paint(StateStuck, "stuck"), p.GateTitle, t.ref(p.Object), t.since(p.Since, ", for "))
	}
}

func (t *textWriter) since(at *time.Time, prefix string) string {
	if at == nil {
		return ""
	}
	return prefix + ago(t.d.At.Sub(*at))
}

// ref names an object, with its namespace if that is another than the Cluster's.
func (t *textWriter) ref(r Reference) string {
	if r.Namespace != "" && r.Namespace != t.d.Cluster.Namespace {
		return r.Kind + " " + r.Namespace + "/" + r.Name
	}
	return oneLine(r.String())
}

func (t *textWriter) problem(number int, p Problem) {
	late := ""
	if p.Overdue {
		late = ", longer than it should"
	}
	fmt.Fprintf(t.b, "\n%s %s (gate %s%s%s)\n", t.paint(p.State, fmt.Sprintf("[%d]", number)), t.paint(p.State, t.ref(p.Object)), p.Gate, t.since(p.Since, ", for "), late)
	where := oneLine(p.Field)
	if p.Reason != "" {
		where = strings.TrimSpace(where + " " + oneLine(p.Reason))
	}
	t.para("    ", "what:  ", p.Message)
	for _, line := range p.Details {
		t.para("    ", "       ", line)
	}
	t.para("    ", "where: ", where)
	if rest, nothing := strings.CutPrefix(p.Action, "none"); nothing {
		t.para("    ", "do:    ", "nothing yet"+rest)
	} else {
		t.para("    ", "do:    ", p.Action)
	}
	for _, c := range p.Commands {
		fmt.Fprintf(t.b, "           $ %s\n", c)
	}
	t.refs("also:  ", p.Also)
	var waits []Reference
	for _, c := range p.Consequences {
		waits = append(waits, c.Object)
	}
	t.refs("waits: ", waits)
}

// refs lists objects, some of them if there are many.
func (t *textWriter) refs(label string, list []Reference) {
	var names []string
	for _, r := range list {
		names = append(names, t.ref(r))
	}
	if more := len(names) - mostObjects; more > 0 {
		names = append(names[:mostObjects], fmt.Sprintf("and %d more", more))
	}
	t.para("    ", label, strings.Join(names, ", "))
}

// para writes labelled prose, wrapped.
func (t *textWriter) para(indent, label, text string) {
	if text == "" {
		return
	}
	space := strings.Repeat(" ", utf8.RuneCountInString(label))
	for i, line := range strings.Split(wordwrap.WrapString(text, width-uint(len(indent)+len(label))), "\n") {
		if i > 0 {
			label = space
		}
		fmt.Fprintf(t.b, "%s%s%s\n", indent, label, line)
	}
}

func (t *textWriter) notes() {
	if len(t.d.Notes)+len(t.d.Unread) > 0 {
		t.b.WriteString("\nAlso noticed:\n")
	}
	for _, n := range t.d.Notes {
		t.para("  ", "- ", fmt.Sprintf("%s: %s (%s %s). %s.", t.ref(n.Object), strings.TrimSuffix(n.Message, "."), n.Field, n.Reason, sentence(n.Action)))
	}
	for _, u := range t.d.Unread {
		t.para("  ", "- ", "not looked at: "+u)
	}
}

// sentence begins an action like a sentence.
func sentence(s string) string {
	if rest, nothing := strings.CutPrefix(s, "none"); nothing {
		return "Nothing to do" + rest
	}
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// tree draws the objects.
func (t *textWriter) tree() {
	lines := make([]string, len(t.d.Objects))
	widest := 0
	for i, o := range t.d.Objects {
		lines[i] = t.branch(i) + t.ref(o.Reference)
		widest = max(widest, utf8.RuneCountInString(lines[i]))
	}
	for i, o := range t.d.Objects {
		pad := strings.Repeat(" ", widest-utf8.RuneCountInString(lines[i]))
		number := ""
		if o.Problem > 0 {
			number = fmt.Sprintf(" [%d]", o.Problem)
		}
		line := fmt.Sprintf("%s%s  %s%s%s", lines[i], pad, t.paint(o.State, fmt.Sprintf("%-7s", o.State)), number, prefixed("  ", o.Summary))
		t.b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// branch draws the lines that lead to an object.
func (t *textWriter) branch(i int) string {
	objects := t.d.Objects
	// last tells whether no sibling follows the object, or the ancestor at a depth.
	last := func(from, depth int) bool {
		for _, o := range objects[from+1:] {
			if o.Depth <= depth {
				return o.Depth < depth
			}
		}
		return true
	}
	depth := objects[i].Depth
	out := ""
	for d := 1; d <= depth; d++ {
		switch {
		case d == depth && last(i, d):
			out += "└─ "
		case d == depth:
			out += "├─ "
		case last(i, d):
			out += "   "
		default:
			out += "│  "
		}
	}
	return out
}
