package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/result"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// failure ends a run. Its text has no secrets.
type failure struct{ why result.Error }

func (f *failure) Error() string { return cmp.Or(f.why.Tail, string(f.why.Kind)) }

func fail(kind infrav1.RunErrorKind, step, format string, args ...any) *failure {
	return &failure{result.Error{Kind: kind, Step: step, Tail: fmt.Sprintf(format, args...)}}
}

// failed says how a step failed: by the runtime's own errors if there are any (image.md 11).
func (r *run) failed(o *outcome) *failure {
	f := result.Error{Kind: infrav1.RunErrorStep, Step: o.step}
	if o.stopped || r.stopped() {
		f.Kind = infrav1.RunErrorInterrupted
	}
	var found []runtime.Diagnostic
	for _, d := range o.diagnostics {
		if d.Severity == runtime.SeverityError {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		for _, d := range runtime.TextDiagnostics(o.tail) {
			if d.Severity == runtime.SeverityError {
				found = append(found, r.redacted(d))
			}
		}
	}
	switch {
	case o.startErr != nil:
		f.Tail = r.secrets.text(o.startErr.Error())
	case len(found) > 0:
		f.Tail = summary(found[0], len(found)-1+o.more)
	case o.stopped && o.signal != "":
		f.Tail = fmt.Sprintf("%s did not end within %s of the stop and was killed", o.step, r.o.StopTimeout)
	case o.stopped:
		f.Tail = o.step + " was stopped from outside"
	case o.signal != "":
		f.Tail = fmt.Sprintf("%s was ended by signal %q, which the runner did not send; a container that needs more memory than "+
			"its limit ends so", o.step, o.signal)
	default:
		f.Tail = fmt.Sprintf("%s ended with exit code %d and said nothing", o.step, o.exit)
		if last := lastLine(o.tail); last != "" {
			f.Tail = fmt.Sprintf("%s ended with exit code %d: %s", o.step, o.exit, last)
		}
	}
	if r.session != nil && strings.Contains(strings.ToLower(f.Tail), "state") {
		if why := r.session.problem(); why != "" { // the runtimes print the code of an answer only
			why = ": " + r.secrets.text(why)
			f.Tail = shorten(f.Tail, max(128, result.MaxTail-len(why))) + why
			f.Tail = shorten(f.Tail, result.MaxTail)
		}
	}
	for _, d := range found {
		if d.Address != "" && len(f.Resources) < result.MaxErrorResources {
			f.Resources = append(f.Resources, d.Address+": "+says(d))
		}
	}
	return &failure{f}
}

// summary is one line: what went wrong, why, where, and how many more errors there are. The place is kept whatever the
// length of the reason.
func summary(d runtime.Diagnostic, more int) string {
	var where []string
	if d.Address != "" {
		where = append(where, d.Address)
	}
	if d.File != "" {
		place := d.File
		if d.Line > 0 {
			place += ":" + strconv.Itoa(d.Line)
		}
		where = append(where, place)
	}
	end := ""
	if len(where) > 0 {
		end = " (" + strings.Join(where, ", ") + ")"
	}
	switch {
	case more == 1:
		end += " and 1 more error"
	case more > 1:
		end += fmt.Sprintf(" and %d more errors", more)
	}
	const least = 128 // of the reason, if the place is very long
	return shorten(says(d), max(least, result.MaxTail-len(end))) + end
}

// says is what a diagnostic says, on one line. A summary that only names the kind of check says less than its detail.
func says(d runtime.Diagnostic) string {
	s, detail := oneLine(d.Summary), oneLine(d.Detail)
	switch {
	case detail == "":
		return s
	case s == "":
		return detail
	}
	return strings.TrimRight(s, ".:") + ": " + detail
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("…")], "") + "…"
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return oneLine(s[strings.LastIndexByte(s, '\n')+1:])
}

// inModule is the name of a file as the module's author knows it: relative to the module if it is in it.
func (r *run) inModule(file string) string {
	if file == "" || filepath.IsAbs(file) || r.work == nil {
		return file
	}
	rel, err := filepath.Rel(r.o.Module, filepath.Join(r.work.root, file))
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return file
	}
	return rel
}

// emergencyState is the state in a line with which a runtime prints it, because neither the backend nor the working
// directory took it.
func emergencyState(line []byte) (json.RawMessage, bool) {
	if !strings.Contains(string(line[:min(len(line), 512)]), `"@level"`) || !strings.Contains(string(line), `"state":{`) {
		return nil, false
	}
	var w struct {
		State json.RawMessage `json:"state"`
	}
	if json.Unmarshal(line, &w) != nil || len(w.State) == 0 || w.State[0] != '{' {
		return nil, false
	}
	return w.State, true
}
