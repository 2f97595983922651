package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/captf-toolkit/captf/provider/internal/plan"
	"github.com/captf-toolkit/captf/provider/internal/result"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// The names of steps (B-599). "flags" is no step that is run: it is where a wrong flag is reported.
const (
	stepFlags       = "flags"
	stepPrepare     = "prepare"
	stepVersion     = "version"
	stepInit        = "init"
	stepForceUnlock = "force-unlock"
	stepValidate    = "validate"
	stepPlan        = "plan"
	stepShow        = "show-json"
	stepApply       = "apply"
	stepRefresh     = "apply-refresh-only"
	stepDestroy     = "destroy"
	stepStatePush   = "state-push"
)

// Limits of what is kept of a step.
const (
	maxTail        = 64 << 10 // stderr, for the summary (B-614)
	maxDiagnostics = 100
	maxValidation  = 16 << 20
	shortStep      = 30 * time.Second // for the version, which is informational
)

// How the standard output of a step is read.
type form int

const (
	text     form = iota // for people
	stream               // a JSON object a line
	report               // the document of validate
	document             // a document with values: never logged
)

// step is one command of the runtime.
type step struct {
	name string
	args []string
	form form
	// env is added to the environment.
	env []string
	// changedCode is the exit code that says: done, and there is something to apply.
	changedCode int
}

// outcome is how a step ended.
type outcome struct {
	step     string
	exit     int32
	signal   string
	took     time.Duration
	stopped  bool // by a stop of the run
	startErr error
	// changed tells that there is something to apply.
	changed     bool
	diagnostics []runtime.Diagnostic
	more        int // diagnostics beyond those that are kept
	summary     *runtime.Summary
	tail        string
	document    []byte
	// state is the state as the runtime printed it, because it could store it nowhere.
	state []byte
}

// ok reports whether the step did what it should.
func (o *outcome) ok() bool { return o.startErr == nil && (o.exit == 0 || o.changed) }

// execute runs a step and logs what it prints. It returns once nothing of the step is left.
func (r *run) execute(ctx context.Context, s step) *outcome {
	o := &outcome{step: s.name}
	rec := &recorder{run: r, step: s, outcome: o, tail: runtime.NewTail(maxTail)}
	var doc bytes.Buffer
	var backend []string
	if r.session != nil {
		backend = r.session.environment()
	}
	cmd := runtime.Command{
		Path: r.o.Bin[0], Args: slices.Concat(r.o.Bin[1:], s.args),
		Dir: r.work.root, Env: slices.Concat(r.work.env, backend, s.env),
		Stderr: rec.plain, Grace: max(r.o.StopTimeout, time.Millisecond),
	}
	switch s.form {
	case text:
		cmd.Stdout = rec.plain
	case stream:
		cmd.Stdout = rec.event
	case report:
		cmd.Document = func(from io.Reader) error { return readDocument(from, &doc, maxValidation) }
	case document:
		cmd.Document = func(from io.Reader) error { return readDocument(from, &doc, plan.MaxBytes) }
	}
	start := time.Now()
	end, err := runtime.Execute(ctx, cmd)
	o.took = time.Since(start)
	o.exit, o.signal, o.stopped = int32(end.ExitCode), end.Signal, end.Interrupted //nolint:gosec // An exit code is small.
	if err != nil {
		o.startErr, o.exit = fmt.Errorf("starting %s: %w", r.o.Bin[0], err), 1
	}
	if end.Signal != "" {
		o.exit = 1
	}
	if s.form == report {
		found, err := runtime.DecodeValidation(doc.Bytes())
		for _, d := range found {
			rec.diagnose(d)
			if o.exit != 0 || d.Severity == runtime.SeverityError {
				rec.logDiagnostic(d)
			}
		}
		if err != nil {
			rec.text(doc.Bytes())
		}
	}
	o.tail = rec.tail.String()
	// A crash of a Go program has the exit code of "there are changes": believe it only with the summary that goes with it.
	o.changed = s.changedCode != 0 && int(o.exit) == s.changedCode && o.summary != nil && !o.failed()
	if s.form == document {
		o.document = doc.Bytes()
		if o.exit == 0 && (end.ReadErr != nil || len(bytes.TrimSpace(o.document)) == 0) {
			o.startErr = errors.Join(errors.New("reading the plan: the answer is empty or cannot be read"), end.ReadErr)
			o.exit = 1
		}
	}
	return o
}

// failed reports whether there is a diagnostic of an error.
func (o *outcome) failed() bool {
	for _, d := range o.diagnostics {
		if d.Severity == runtime.SeverityError {
			return true
		}
	}
	return false
}

// history is the step as the result has it.
func (o *outcome) history() result.Step {
	return result.Step{Name: o.step, Exit: o.exit, Seconds: o.took.Seconds()}
}

// readDocument takes a whole document. The rest of one that is too large is read and dropped, so that the runtime does not
// hang on a full pipe.
func readDocument(from io.Reader, to *bytes.Buffer, limit int64) error {
	n, err := io.Copy(to, io.LimitReader(from, limit+1))
	if err == nil && n > limit {
		to.Reset()
		_, _ = io.Copy(io.Discard, from)
		return fmt.Errorf("the answer has more than %d MiB", limit>>20)
	}
	return err
}

// recorder takes the output of one step. Both streams come from their own goroutine.
type recorder struct {
	run     *run
	step    step
	mu      sync.Mutex
	outcome *outcome
	tail    *runtime.Tail
}

// plain takes a line of text.
func (r *recorder) plain(line []byte, cut bool) {
	s := r.run.secrets.line(line, cut)
	r.mu.Lock()
	r.tail.Add([]byte(s))
	r.mu.Unlock()
	r.run.log.write(r.step.name, s)
}

// text takes a text that was expected to be something else.
func (r *recorder) text(all []byte) {
	for line := range bytes.Lines(all) {
		r.plain(bytes.TrimRight(line, "\r\n"), false)
	}
}

// event takes a line of a JSON stream. Nothing of it reaches the log but what people read: a runtime also puts values into it.
func (r *recorder) event(line []byte, cut bool) {
	if state, ok := emergencyState(line); ok {
		r.mu.Lock()
		r.outcome.state = bytes.Clone(state)
		r.mu.Unlock()
		r.run.log.write(r.step.name, "the runtime could store the state nowhere and printed it; it is not logged")
		r.diagnose(runtime.Diagnostic{Severity: runtime.SeverityError, Summary: "the state could be stored nowhere"})
		return
	}
	e, ok := runtime.DecodeEvent(line)
	if !ok {
		r.plain(line, cut)
		return
	}
	if e.Summary != nil {
		r.mu.Lock()
		r.outcome.summary = e.Summary
		r.mu.Unlock()
	}
	if e.Diagnostic != nil {
		r.diagnose(*e.Diagnostic)
		r.logDiagnostic(*e.Diagnostic)
		return
	}
	r.run.log.write(r.step.name, r.run.secrets.text(e.Message))
}

func (r *recorder) diagnose(d runtime.Diagnostic) {
	d = r.run.redacted(d)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.outcome.diagnostics) == maxDiagnostics {
		r.outcome.more++
		return
	}
	r.outcome.diagnostics = append(r.outcome.diagnostics, d)
}

// logDiagnostic writes a diagnostic in full. The source line that runtimes quote is left out: it is in the module.
func (r *recorder) logDiagnostic(d runtime.Diagnostic) {
	d = r.run.redacted(d)
	head := "Error: "
	if d.Severity == runtime.SeverityWarning {
		head = "Warning: "
	}
	lines := []string{head + d.Summary}
	if p := d.Place(); p != "" {
		lines = append(lines, "  on "+p)
	}
	if d.Address != "" {
		lines = append(lines, "  with "+d.Address)
	}
	if d.Detail != "" {
		lines = append(lines, strings.TrimSpace(d.Detail))
	}
	r.run.log.write(r.step.name, strings.Join(lines, "\n"))
}

// redacted replaces secrets in a diagnostic and makes its file name one that a module's author knows.
func (r *run) redacted(d runtime.Diagnostic) runtime.Diagnostic {
	d.Summary, d.Detail, d.Address = r.secrets.text(d.Summary), r.secrets.text(d.Detail), r.secrets.text(d.Address)
	d.File, d.Code = r.secrets.text(r.inModule(d.File)), ""
	return d
}
