package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/plan"
	"github.com/captf-toolkit/captf/provider/internal/result"
)

// errStopped is the cause of a context that a signal ended.
var errStopped = errors.New("the run was stopped from outside")

// run is one operation.
type run struct {
	o       Options
	ctx     context.Context // ends with the first signal
	start   time.Time
	secrets *redactor
	log     *log
	events  *events
	session *session
	work    *workspace
	doc     result.Document
	// step that is being run, for a panic.
	step string

	// What the steps found.
	changed bool
	judged  *plan.Report
}

// Run runs an operation to its end and reports it. Secrets are replaced in all that it writes to out, which gets the log.
// When the context ends, the runtime is stopped and waited for. The error, which the log has too, is nil if the operation
// succeeded and its result could be written.
func Run(ctx context.Context, o Options, process []string, stdout, out io.Writer) (err error) {
	secrets := newRedactor()
	r := &run{o: o, ctx: ctx, start: time.Now(), secrets: secrets, log: &log{w: out, secrets: secrets}}
	// Before anything can be said.
	secrets.addEnvironment(process, o.Local)
	r.events = &events{}
	r.doc = result.Document{Op: o.Op, Image: result.Image{Ref: o.Image}}
	if len(o.Bin) > 0 {
		r.doc.Runtime.Command = runtimeName(o.Bin[0])
	}
	defer func() {
		if p := recover(); p != nil {
			r.log.write("runner", secrets.text(fmt.Sprintf("panic: %v\n%s", p, debug.Stack())))
			err = fail(infrav1.RunErrorStep, r.step, "the runner itself failed, which is a bug: %s", secrets.text(fmt.Sprint(p)))
		}
		err = r.finish(err, stdout)
	}()
	return r.do(process)
}

// runtimeName is the name of the binary behind the fixed path of an image.
func runtimeName(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return filepath.Base(path)
}

func (r *run) stopped() bool { return r.ctx.Err() != nil }

// do is the run from its first check to the last step.
func (r *run) do(process []string) error {
	r.step = stepFlags
	if err := r.o.settle(); err != nil {
		return &usageError{err}
	}
	r.step = stepPrepare
	if err := checkLayout(r.o.Module, r.o.Bin[0]); err != nil {
		return fail(infrav1.RunErrorImageLayout, "", "%v", err)
	}
	if r.o.Broker != "" {
		s, err := awaitSession(r.ctx, r.o.Broker)
		if err != nil {
			return r.problem(stepPrepare, err)
		}
		r.session = s
		r.secrets.add(s.current().Password)
		if r.o.Events {
			r.events = startEvents(s)
		}
		if err := s.mayStart(r.ctx); err != nil {
			var status *statusError
			if errors.As(err, &status) && status.code == http.StatusConflict {
				return fail(infrav1.RunErrorInterrupted, "", "%s, so that nothing was run", strings.TrimSpace(string(status.body)))
			}
			return r.problem(stepPrepare, err)
		}
	}
	w, err := prepare(r.o, process, r.secrets)
	if err != nil {
		return r.problem(stepPrepare, err)
	}
	r.work, r.doc.Image.ProvidersMirror = w, w.mirror
	if len(w.dropped) > 0 {
		r.log.say("variables that the runtime does not get: %s", strings.Join(w.dropped, ", "))
	}
	if err := r.needsKey(); err != nil {
		return r.problem(stepPlan, err)
	}
	r.askVersion()
	r.tell(normal, "RunStarted", "%s with %s, image %s", r.o.Op, r.runtime(), r.o.Image)
	for _, a := range sequence(r.o) {
		if r.stopped() {
			return fail(infrav1.RunErrorInterrupted, "", "the run was stopped from outside before it was done")
		}
		if err := a(r); err != nil {
			return err
		}
	}
	return nil
}

// problem is a failure that is none of the runtime's.
func (r *run) problem(step string, err error) *failure {
	f := fail(infrav1.RunErrorStep, step, "%s", r.secrets.text(err.Error()))
	if r.stopped() {
		f.why.Kind = infrav1.RunErrorInterrupted
	}
	return f
}

func (r *run) runtime() string {
	return strings.TrimSpace(r.doc.Runtime.Command + " " + r.doc.Runtime.Version)
}

// askVersion notes the runtime's version. It is informational: a runtime that does not answer fails in its first step.
func (r *run) askVersion() {
	ctx, cancel := context.WithTimeout(r.ctx, shortStep)
	defer cancel()
	quiet := *r
	quiet.log = &log{w: io.Discard, secrets: r.secrets}
	quiet.o.StopTimeout = time.Second
	o := quiet.execute(ctx, step{name: stepVersion, args: []string{"version", "-json"}, form: document})
	var v struct {
		Version string `json:"terraform_version"`
	}
	if o.ok() && json.Unmarshal(o.document, &v) == nil {
		r.doc.Runtime.Version = r.secrets.text(v.Version)
	}
	r.log.say("%s with %s in %s", r.o.Op, r.runtime(), r.work.root)
}

// perform runs a step and records it.
func (r *run) perform(ctx context.Context, s step) (*outcome, error) {
	r.step = s.name
	r.log.say("starting %s", s.name)
	r.tell(normal, "StepStarted", "%s", s.name)
	since := time.Now()
	o := r.execute(ctx, s)
	r.doc.Steps = append(r.doc.Steps, o.history())
	if o.summary != nil && (s.name == stepApply || s.name == stepDestroy) {
		r.doc.Changes = &result.Changes{
			Add: count(o.summary.Add), Change: count(o.summary.Change), Destroy: count(o.summary.Remove), Import: count(o.summary.Import),
		}
		if o.ok() {
			r.tell(normal, "ResourcesChanged", "%d added, %d changed, %d destroyed", o.summary.Add, o.summary.Change, o.summary.Remove)
		}
	}
	if o.ok() {
		r.log.say("%s done in %s", s.name, o.took.Round(time.Millisecond))
		r.tell(normal, "StepSucceeded", "%s took %s", s.name, o.took.Round(time.Millisecond))
		return o, nil
	}
	f := r.failed(o)
	r.log.say("%s failed after %s: %s", s.name, o.took.Round(time.Millisecond), f.why.Tail)
	r.tell(warning, "StepFailed", "%s: %s", s.name, f.why.Tail)
	r.rescue(o, since)
	return o, f
}

func count(n int) int32 { return int32(min(max(0, n), 1<<30)) }

// finish writes the result and ends the run. It never fails to try both places.
func (r *run) finish(err error, stdout io.Writer) error {
	var f *failure
	var usage *usageError
	switch {
	case err == nil:
	case errors.As(err, &usage):
		f = fail(infrav1.RunErrorStep, stepFlags, "%s", r.secrets.text(err.Error()))
	case !errors.As(err, &f):
		f = fail(infrav1.RunErrorStep, r.step, "%s", r.secrets.text(err.Error()))
	}
	took := time.Since(r.start).Round(time.Millisecond)
	if f != nil {
		why := f.why
		why.Tail = r.secrets.text(why.Tail)
		for i, line := range why.Resources {
			why.Resources[i] = r.secrets.text(line)
		}
		r.doc.Error = &why
		r.log.say("%s failed after %s: %s: %s", r.o.Op, took, why.Kind, why.Tail)
		r.tell(warning, "RunFinished", "%s failed after %s: %s: %s", r.o.Op, took, why.Kind, why.Tail)
	} else {
		r.log.say("%s done in %s", r.o.Op, took)
		r.tell(normal, "RunFinished", "%s took %s", r.o.Op, took)
	}
	r.redactLists()
	doc := result.Encode(&r.doc)
	var errs []error
	if werr := writeResult(r.o.Result, doc, stdout); werr != nil {
		r.log.say("%v", werr)
		errs = append(errs, werr)
	}
	// The context may have ended, and the manager still wants to know.
	ctx := context.WithoutCancel(r.ctx)
	if r.session != nil {
		if perr := r.session.put(ctx, doc); perr != nil {
			r.log.say("handing the result to the broker: %v", perr)
		}
	}
	r.events.close()
	return errors.Join(append([]error{err}, errs...)...)
}

// redactLists replaces secrets in the keys of resources, which may be anything.
func (r *run) redactLists() {
	if p := r.doc.Plan; p != nil {
		for i, s := range p.Resources {
			p.Resources[i] = r.secrets.text(s)
		}
	}
	if d := r.doc.Drift; d != nil {
		for i, s := range d.Resources {
			d.Resources[i] = r.secrets.text(s)
		}
	}
	r.doc.Image.Ref = r.secrets.text(r.doc.Image.Ref)
}

// writeResult writes the document with a single write: the termination message is a file that is mounted and cannot be
// replaced.
func writeResult(path string, doc []byte, stdout io.Writer) error {
	if path == "" {
		return nil
	}
	if path == "-" {
		var b bytes.Buffer
		if err := json.Indent(&b, doc, "", "  "); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
		_, err := fmt.Fprintln(stdout, b.String())
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) //nolint:gosec // The kubelet reads it, and it holds no secrets.
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	_, err = f.Write(doc)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}
