package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// moduleAddress is where the generated root calls the module (contract.md 12).
const moduleAddress = "module.role"

// relative strips the generated root's module call from an address.
func relative(address string) string {
	if address == moduleAddress {
		return ""
	}
	return strings.TrimPrefix(address, moduleAddress+".")
}

// failure tells a module that failed, which is a result, from a runtime that
// could not run, which is an error (harness.md H3). A run that was not done in
// time is the module's if the runtime had come to work on it.
func failure(res *runtime.Result, err error) (failed bool, fatal error) {
	if err == nil {
		return false, nil
	}
	var re *runtime.RunError
	if !errors.As(err, &re) {
		return false, err
	}
	if re.Timeout && !re.LostState && res != nil && len(res.Resources)+len(res.Planned) > 0 {
		return true, nil
	}
	if re.Interrupted || re.Timeout || re.Killed || re.Signal != "" || re.Err != nil || len(re.Diagnostics) == 0 {
		return false, err
	}
	// A full disk is nobody's module.
	if slices.ContainsFunc(re.Diagnostics, func(d runtime.Diagnostic) bool {
		return strings.Contains(d.Summary+d.Detail, "no space left on device")
	}) {
		return false, err
	}
	return true, nil
}

// hung returns the resources that the runtime was working on when the time was
// over. What ended after that was ended by the interrupt.
func hung(res *runtime.Result, after time.Duration) []string {
	over := res.Started.Add(after)
	var busy []string
	for _, e := range res.Resources {
		address := relative(e.Address)
		switch {
		case e.Phase == runtime.PhaseProvision || e.Phase == runtime.PhaseEphemeral || e.Time.After(over):
		case e.Moment == runtime.Started && !slices.Contains(busy, address):
			busy = append(busy, address)
		case e.Moment == runtime.Completed || e.Moment == runtime.Errored:
			busy = slices.DeleteFunc(busy, func(b string) bool { return b == address })
		}
	}
	return busy
}

// hungDiagnostic says what a run that was not done in time was at.
func hungDiagnostic(busy []string, late *runtime.RunError) harness.Diagnostic {
	d := harness.Diagnostic{
		Severity: string(runtime.SeverityError), Summary: fmt.Sprintf("not done after %s, and interrupted", late.After),
		Detail: "it had not begun with any resource, or was done with those that it had begun with",
	}
	switch len(busy) {
	case 0:
	case 1:
		d.Detail = "it was still at work on " + busy[0]
	default:
		d.Detail = "it was still at work on " + strings.Join(busy, ", ")
	}
	if late.Killed {
		d.Summary = fmt.Sprintf("not done after %s, and killed because it ignored the interrupt", late.After)
	}
	return d
}

// answered tells that a run which ended well left what every runtime leaves: a
// summary in its stream or, after an apply, a state.
func answered(op harness.Op, res *runtime.Result, state string) bool {
	if res.Summary != nil {
		return true
	}
	if op != harness.OpApply {
		return len(res.Resources)+len(res.Planned)+len(res.Diagnostics) > 0
	}
	_, err := os.Stat(state)
	return err == nil
}

// diagnostics converts messages, errors first. Places in the module are named
// as the user gave its directory; places in generated files are left out.
func (o *object) diagnostics(list []runtime.Diagnostic) []harness.Diagnostic {
	out := make([]harness.Diagnostic, 0, len(list))
	for _, d := range list {
		hd := harness.Diagnostic{
			Severity: string(d.Severity), Summary: o.text(d.Summary), Detail: o.text(d.Detail), Address: relative(d.Address),
		}
		if file, ok := o.sourceFile(d.File); ok {
			d.File = file
			hd.Range = d.Place()
		}
		out = append(out, hd)
	}
	slices.SortStableFunc(out, func(a, b harness.Diagnostic) int {
		return boolCompare(b.Severity == string(runtime.SeverityError), a.Severity == string(runtime.SeverityError))
	})
	return out
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// sourceFile names a file as the user would; ok is false for generated ones.
func (o *object) sourceFile(file string) (string, bool) {
	if file == "" {
		return "", false
	}
	d := o.role
	for _, base := range []string{d.member.real, d.copyDir(".fault"), d.copyDir(".lifted")} {
		rel, err := filepath.Rel(base, file)
		if err == nil && filepath.IsLocal(rel) && filepath.Base(rel) != faultFile && filepath.Base(rel) != liftFile {
			return filepath.Join(d.member.dir, rel), true
		}
	}
	if rel, err := filepath.Rel(d.dir, file); err == nil && filepath.IsLocal(rel) {
		return "", false
	}
	return file, true
}

// rootedAddress is an address from the generated root, in a text.
var rootedAddress = regexp.MustCompile(`(^|[^\w.\]])` + regexp.QuoteMeta(moduleAddress) + `\.`)

// text says in a message of the runtime what the user knows: addresses from
// the module on, and paths from where the module was given.
func (o *object) text(s string) string {
	d := o.role
	for _, source := range []string{d.source, copySource(".fault"), copySource(".lifted"), d.member.real} {
		if source == "" || !strings.Contains(s, source) {
			continue
		}
		at := regexp.MustCompile(regexp.QuoteMeta(filepath.FromSlash(source)) + `([^\w.-]|$)`)
		s = at.ReplaceAllStringFunc(s, func(m string) string { return d.member.dir + m[len(source):] })
	}
	return rootedAddress.ReplaceAllString(s, "$1")
}

// readable returns the error of a run with places and addresses as the user
// knows them.
func (o *object) readable(err error) error {
	re, ok := err.(*runtime.RunError) //nolint:errorlint // only a bare one is rewritten; one with more around it keeps its text
	if !ok {
		return err
	}
	out := *re
	out.Diagnostics = slices.Clone(re.Diagnostics)
	for n := range out.Diagnostics {
		g := &out.Diagnostics[n]
		g.Summary, g.Detail, g.Address = o.text(g.Summary), o.text(g.Detail), relative(g.Address)
		file, ok := o.sourceFile(g.File)
		if g.File = file; !ok {
			g.File = ""
		}
	}
	return &out
}

// noteKilled notes that an apply was killed: what it was making may exist
// although no state records it.
func (o *object) noteKilled(op harness.Op, err error) {
	var re *runtime.RunError
	if op != harness.OpApply || !errors.As(err, &re) {
		return
	}
	// One that dies of our interrupt has not yet begun to heed it, nor to work.
	died := re.Signal != "" && !re.Interrupted && !re.Timeout
	if !re.Killed && !died && re.Crash == "" && !re.LostState {
		return
	}
	r := o.role.r
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, harness.Note{Role: o.role.member.role, Message: fmt.Sprintf(
		"the apply of %s did not end in order: what it was creating may exist although no state records it; look for it by the names and tags of the object", o.ref())})
}

// Notes returns what a person should know of runs that did not end in order.
func (r *Runner) Notes() []harness.Note {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}
