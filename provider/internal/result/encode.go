package result

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Limits of fields that nothing else bounds.
const (
	maxRef     = 1024
	maxCommand = 128
	maxVersion = 64
	maxStep    = 64
	maxHash    = 128
)

// Encode writes the document in at most [MaxBytes] bytes. What is too large is made smaller in stages (B-611, B-615): the
// change counts go first, then the failed resources, the error's tail, the lists of a plan's and a drift's resources, and
// the step history; a plan's hash and counts stay. The document itself is not changed.
func Encode(d *Document) []byte {
	c := d.bounded()
	for _, shrink := range stages {
		if b := encode(c); len(b) <= MaxBytes {
			return b
		}
		shrink(c)
	}
	if b := encode(c); len(b) <= MaxBytes {
		return b
	}
	// Only names that need much escaping get here: keep what the manager decides by.
	return encode(&Document{Version: Version, Op: c.Op, Error: c.Error, Plan: c.Plan})
}

// stages make a document smaller, each by one kind of content and by no more than is needed.
var stages = []func(*Document){
	func(d *Document) { d.Changes = nil },
	func(d *Document) {
		if d.Error != nil {
			d.Error.Resources = longest(d, d.Error.Resources, func(l []string) { d.Error.Resources = l })
		}
	},
	func(d *Document) {
		if d.Error == nil {
			return
		}
		whole := d.Error.Tail
		n := sort.Search(len(whole), func(n int) bool {
			d.Error.Tail = cut(whole, len(whole)-n)
			return len(encode(d)) <= MaxBytes
		})
		d.Error.Tail = cut(whole, len(whole)-n)
	},
	func(d *Document) {
		// Whether the other list is there too does not matter: no run has both.
		if d.Plan != nil {
			d.Plan.Resources = longest(d, d.Plan.Resources, func(l []string) {
				d.Plan.Truncated = d.Plan.Truncated || len(l) < len(d.Plan.Resources)
				d.Plan.Resources = l
			})
		}
		if d.Drift != nil {
			d.Drift.Resources = longest(d, d.Drift.Resources, func(l []string) {
				d.Drift.Truncated = d.Drift.Truncated || len(l) < len(d.Drift.Resources)
				d.Drift.Resources = l
			})
		}
	},
	func(d *Document) { d.Steps = nil },
	func(d *Document) { d.Image.Ref = "" },
}

// longest is the longest start of a list with which the document fits, which may be nothing.
func longest(d *Document, list []string, set func([]string)) []string {
	n := len(list)
	for ; n > 0; n-- {
		set(list[:n:n])
		if len(encode(d)) <= MaxBytes {
			return list[:n:n]
		}
	}
	set(nil)
	return nil
}

func encode(d *Document) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		// There is nothing in a bounded document that JSON cannot hold.
		panic("encoding a result: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// bounded is a copy in which every field is within its limit, so that [Decode] accepts it.
func (d *Document) bounded() *Document {
	c := *d
	c.Version = Version
	c.Op = infrav1.Operation(line(string(d.Op), maxStep))
	c.Image.Ref = line(d.Image.Ref, maxRef)
	c.Runtime = Runtime{Command: line(d.Runtime.Command, maxCommand), Version: line(d.Runtime.Version, maxVersion)}
	c.Steps = slices.Clone(d.Steps)
	if len(c.Steps) > MaxSteps {
		c.Steps = c.Steps[len(c.Steps)-MaxSteps:]
	}
	for i, s := range c.Steps {
		c.Steps[i] = Step{Name: line(s.Name, maxStep), Exit: s.Exit, Seconds: seconds(s.Seconds)}
	}
	if d.Changes != nil {
		n := *d.Changes
		atLeastZero(&n.Add, &n.Change, &n.Destroy, &n.Import)
		c.Changes = &n
	}
	if d.Error != nil {
		e := *d.Error
		e.Kind = infrav1.RunErrorKind(line(string(e.Kind), maxStep))
		e.Step, e.Tail = line(e.Step, maxStep), line(e.Tail, MaxTail)
		e.Resources, _ = lines(e.Resources, MaxErrorResources, MaxErrorResource)
		c.Error = &e
	}
	if d.Drift != nil {
		n := *d.Drift
		atLeastZero(&n.Create, &n.Update, &n.Replace, &n.Delete)
		var more bool
		n.Resources, more = lines(n.Resources, MaxDriftResources, MaxDriftResource)
		n.Truncated = n.Truncated || more
		c.Drift = &n
	}
	if d.Plan != nil {
		p := *d.Plan
		atLeastZero(&p.Create, &p.Update, &p.Replace, &p.Delete, &p.Import, &p.Move, &p.Forget, &p.OutputChanges)
		p.Hash = line(p.Hash, maxHash)
		var more bool
		p.Resources, more = lines(p.Resources, MaxPlanResources, MaxPlanResource)
		p.Truncated = p.Truncated || more
		c.Plan = &p
	}
	return &c
}

func atLeastZero(counts ...*int32) {
	for _, n := range counts {
		*n = max(0, *n)
	}
}

// lines bounds a list and its entries; empty ones are left out.
func lines(list []string, most, size int) (kept []string, more bool) {
	for _, s := range list {
		s = line(s, size)
		if s == "" {
			continue
		}
		if len(kept) == most {
			return kept, true
		}
		kept = append(kept, s)
	}
	return kept, false
}

// line is s on one line without control characters, cut at a character to the given size.
func line(s string, size int) string {
	if len(s) > 4*size {
		s = s[:4*size]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, s)
	return cut(strings.Join(strings.Fields(s), " "), size)
}

const ellipsis = "…"

// cut is the start of s in at most the given number of bytes. It ends in an ellipsis if something is missing and there is
// room for one.
func cut(s string, size int) string {
	if len(s) <= size {
		return s
	}
	if size < len(ellipsis)+1 {
		return ""
	}
	end := size - len(ellipsis)
	for end > 0 && s[end]&0xC0 == 0x80 { // inside a character
		end--
	}
	return s[:end] + ellipsis
}

// seconds rounds to milliseconds and replaces what is no duration.
func seconds(s float64) float64 {
	const most = 1e9 // thirty years
	if !(s > 0) {
		return 0
	}
	return math.Round(min(s, most)*1000) / 1000
}
