package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// maxDocument is the largest answer of validate, show and output, in bytes.
const maxDocument = 256 << 20

// How the standard output of a step is read.
type mode int

const (
	// textMode: text for people.
	textMode mode = iota
	// streamMode: a JSON object a line.
	streamMode
	// validateMode: one document with diagnostics.
	validateMode
	// documentMode: one document that may hold secrets: it is never logged.
	documentMode
)

type call struct {
	step Step
	args []string
	mode mode
	// changedCode is an exit code that says: done, and there is something to apply.
	changedCode int
}

// run executes one step. The document is set in validateMode and documentMode.
func (w *Workdir) run(ctx context.Context, c call) (*Result, []byte, error) {
	fail := &RunError{Step: c.step, Dir: w.dir, Runtime: w.bin.String(), ExitCode: -1}
	if ctx.Err() != nil {
		fail.Interrupted, fail.Err = true, context.Cause(ctx)
		return nil, nil, fail
	}
	rec := &recorder{w: w, step: c.step, res: &Result{Step: c.step}, text: newTail(16 << 10), log: w.openLog(c)}
	timeout := w.timeout(c.step)
	grace := w.o.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	cmd := command{
		path: w.bin.Path, args: c.args, dir: w.abs, env: w.env,
		stderr: rec.plain, deadline: timeout, grace: grace, force: w.o.Force, kill: w.o.Kill,
	}
	var doc bytes.Buffer
	switch c.mode {
	case textMode:
		cmd.stdout = rec.plain
	case streamMode:
		cmd.stdout = rec.stream
	case validateMode, documentMode:
		cmd.document = func(r io.Reader) error { return readDocument(r, &doc) }
	}

	before := w.errored()
	rec.res.Started = time.Now()
	end, err := execute(ctx, cmd)
	res := rec.res
	res.Duration, res.ExitCode = time.Since(res.Started), end.exitCode
	res.Log = rec.log.close()
	if err != nil {
		fail.Err = fmt.Errorf("starting %s: %w", w.bin.Path, err)
		return nil, nil, fail
	}

	if c.mode == validateMode {
		found, err := decodeValidation(doc.Bytes())
		for _, d := range found {
			res.diagnose(d.finish(w.dir, w.redact))
		}
		if err != nil {
			// Not a document: what it says may be text.
			rec.plainText(doc.Bytes())
			if end.exitCode == 0 {
				end.readErr = errors.Join(end.readErr, err)
			}
		}
	}
	if c.mode == documentMode && end.exitCode == 0 && end.readErr == nil && len(bytes.TrimSpace(doc.Bytes())) == 0 {
		end.readErr = errors.New("the answer is empty")
	}
	if len(res.Errors()) == 0 {
		for _, d := range humanDiagnostics(rec.text.String()) {
			res.diagnose(d.finish(w.dir, w.redact))
		}
	}

	res.rescue(before, w.errored())

	// A crash of a Go program has the exit code of "there are changes": believe it only
	// with the summary that goes with it.
	changed := c.changedCode != 0 && end.exitCode == c.changedCode && res.Summary != nil && len(res.Errors()) == 0
	good := end.exitCode == 0 || changed
	if good && end.readErr == nil {
		// An interrupt that came too late to matter is no failure of this step.
		return res, doc.Bytes(), nil
	}
	fail.ExitCode, fail.Signal, fail.Log = end.exitCode, end.signal, res.Log
	fail.RescuedState, fail.LostState = res.RescuedState, len(res.EmergencyState) > 0
	fail.Killed, fail.Timeout = end.killed, end.timedOut
	fail.Interrupted = end.interrupted && !end.timedOut
	if fail.Timeout {
		fail.After = timeout
	}
	fail.Diagnostics = res.Errors()
	if len(fail.Diagnostics) == 0 {
		fail.Crash, fail.Output = rec.crash, rec.text.String()
	}
	switch {
	case fail.Interrupted:
		fail.Err = context.Cause(ctx)
	case end.readErr != nil:
		fail.Err = fmt.Errorf("%w: %w", ErrGarbage, end.readErr)
	}
	return res, doc.Bytes(), fail
}

// errored is the file into which runtimes write a state that their backend did not take.
type errored struct {
	path string
	info os.FileInfo // nil if there is none
}

func (w *Workdir) errored() errored {
	e := errored{path: filepath.Join(w.abs, "errored.tfstate")}
	if info, err := os.Stat(e.path); err == nil {
		e.info = info
	}
	return e
}

// newerThan reports whether the file was written since the other look at it.
func (e errored) newerThan(old errored) bool {
	if e.info == nil || e.info.Size() == 0 {
		return false
	}
	return old.info == nil || e.info.Size() != old.info.Size() || !e.info.ModTime().Equal(old.info.ModTime())
}

// rescue keeps a state that the runtime could not store where it belongs.
func (r *Result) rescue(before, after errored) {
	if len(r.EmergencyState) == 0 {
		if after.newerThan(before) {
			r.RescuedState = after.path
		}
		return
	}
	f, err := os.CreateTemp("", "captf-state-*.tfstate") // mode 0600
	if err != nil {
		return
	}
	_, err = f.Write(r.EmergencyState)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return
	}
	r.RescuedState, r.EmergencyState = f.Name(), nil
}

// readDocument takes a whole document, up to the limit. The rest is read and dropped,
// so that the runtime does not hang on a full pipe.
func readDocument(r io.Reader, to *bytes.Buffer) error {
	n, err := io.Copy(to, io.LimitReader(r, maxDocument+1))
	if err == nil && n > maxDocument {
		to.Reset()
		_, _ = io.Copy(io.Discard, r)
		return fmt.Errorf("the answer has more than %d MiB", maxDocument>>20)
	}
	return err
}

// recorder takes the lines of one run: it redacts them first, then logs, decodes and
// passes them on. Both streams come from their own goroutine.
type recorder struct {
	w    *Workdir
	step Step
	mu   sync.Mutex
	res  *Result
	text *tail
	log  *logFile
	// crash is the first line of a Go program's last words.
	crash string
}

// stream takes a line of a JSON stream.
func (r *recorder) stream(l line) {
	e, ok := DecodeEvent(l.text)
	if !ok {
		if l.cut && bytes.HasPrefix(l.text, []byte(`{"@level":"error"`)) {
			// The error counts although its end is missing.
			r.mu.Lock()
			r.res.diagnose(Diagnostic{
				Severity: SeverityError,
				Summary:  fmt.Sprintf("the runtime reported an error of more than %d MiB", maxLine>>20),
				Detail:   string(r.w.redact.line(line{text: l.text[:min(len(l.text), 4<<10)], cut: true}).text),
			})
			r.mu.Unlock()
		}
		r.plain(l)
		return
	}
	if e.state != nil {
		l.text = []byte(`{"@level":"` + e.Level + `","@message":"the runtime printed the state; it is not logged"}`)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.write(r.w.redact.line(l).text)
	e.finish(r.w.dir, r.w.redact)
	r.res.take(e)
	if r.w.o.Events != nil {
		r.w.o.Events(r.step, e)
	}
}

// plain takes a line of text.
func (r *recorder) plain(l line) {
	l = r.w.redact.line(l)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.write(l.text)
	r.text.add(l.text)
	if r.crash == "" && crashed.Match(l.text) {
		r.crash = stripANSI(string(l.text))
	}
}

var crashed = regexp.MustCompile(`^(panic: |fatal error: |runtime: out of memory)`)

// plainText takes a text that was expected to be something else.
func (r *recorder) plainText(text []byte) {
	_ = readLines(bytes.NewReader(text), 64<<10, r.plain) // a reader of bytes has no errors
}
