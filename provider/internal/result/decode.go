package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// ErrEmpty is returned for a document without content: the run wrote none, because it was killed or never started.
var ErrEmpty = errors.New("there is no result")

var (
	operations = []infrav1.Operation{
		infrav1.OperationApply, infrav1.OperationDestroy, infrav1.OperationDrift,
		infrav1.OperationRefresh, infrav1.OperationRestore, infrav1.OperationPlan,
	}
	kinds = []infrav1.RunErrorKind{
		infrav1.RunErrorImageLayout, infrav1.RunErrorStep, infrav1.RunErrorInterrupted,
		infrav1.RunErrorBlocked, infrav1.RunErrorPlanChanged,
	}
	stepName = regexp.MustCompile(`^[a-z][a-z-]*$`)
	planHash = regexp.MustCompile(`^p2:[0-9a-f]{64}$`)
)

// Decode reads a document that [Encode] wrote. It refuses one that is larger than [MaxBytes], of another version, or in
// which a field is outside of its limits: such a document was not written by the runner. Unknown fields are ignored. The
// error is [ErrEmpty] if there is nothing but white space.
func Decode(raw []byte) (*Document, error) {
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("decoding result: it has %d bytes, more than %d", len(raw), MaxBytes)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, fmt.Errorf("decoding result: %w", ErrEmpty)
	}
	d := &Document{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(d); err != nil {
		return nil, fmt.Errorf("decoding result: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decoding result: there is something after the document")
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("decoding result: %w", err)
	}
	return d, nil
}

// check reports the first field that is outside of its limits. It does not quote values: they may come from anybody.
func (d *Document) check() error {
	if d.Version != Version {
		return fmt.Errorf("version is %d, not %d", d.Version, Version)
	}
	if !slices.Contains(operations, d.Op) {
		return errors.New("op is no operation")
	}
	for _, f := range []struct {
		field, value string
		most         int
	}{
		{"image.ref", d.Image.Ref, maxRef},
		{"runtime.command", d.Runtime.Command, maxCommand},
		{"runtime.version", d.Runtime.Version, maxVersion},
	} {
		if f.value != line(f.value, f.most) {
			return tooLong(f.field, f.most)
		}
	}
	if len(d.Steps) > MaxSteps {
		return fmt.Errorf("steps has %d entries, more than %d", len(d.Steps), MaxSteps)
	}
	for i, s := range d.Steps {
		if len(s.Name) > maxStep || !stepName.MatchString(s.Name) {
			return fmt.Errorf("steps[%d].name is no name of a step", i)
		}
		if s.Seconds < 0 || s.Seconds > 1e9 {
			return fmt.Errorf("steps[%d].seconds is no duration", i)
		}
	}
	if err := d.Error.check(); err != nil {
		return err
	}
	if c := d.Changes; c != nil && negative(c.Add, c.Change, c.Destroy, c.Import) {
		return errors.New("changes has a negative count")
	}
	if n := d.Drift; n != nil {
		if negative(n.Create, n.Update, n.Replace, n.Delete) {
			return errors.New("drift has a negative count")
		}
		if err := checkList("drift.resources", n.Resources, MaxDriftResources, MaxDriftResource); err != nil {
			return err
		}
	}
	if p := d.Plan; p != nil {
		if !planHash.MatchString(p.Hash) {
			return errors.New("plan.hash is no hash of a plan")
		}
		if negative(p.Create, p.Update, p.Replace, p.Delete, p.Import, p.Move, p.Forget, p.OutputChanges) {
			return errors.New("plan has a negative count")
		}
		return checkList("plan.resources", p.Resources, MaxPlanResources, MaxPlanResource)
	}
	return nil
}

func (e *Error) check() error {
	if e == nil {
		return nil
	}
	if !slices.Contains(kinds, e.Kind) {
		return errors.New("error.kind is no kind of failure")
	}
	if e.Step != "" && (len(e.Step) > maxStep || !stepName.MatchString(e.Step)) {
		return errors.New("error.step is no name of a step")
	}
	if e.Tail != line(e.Tail, MaxTail) {
		return tooLong("error.tail", MaxTail)
	}
	return checkList("error.resources", e.Resources, MaxErrorResources, MaxErrorResource)
}

func checkList(field string, list []string, most, size int) error {
	if len(list) > most {
		return fmt.Errorf("%s has %d entries, more than %d", field, len(list), most)
	}
	for i, s := range list {
		if s == "" || s != line(s, size) {
			return tooLong(fmt.Sprintf("%s[%d]", field, i), size)
		}
	}
	return nil
}

func tooLong(field string, most int) error {
	return fmt.Errorf("%s is not one line of at most %d bytes", field, most)
}

func negative(counts ...int32) bool {
	return slices.ContainsFunc(counts, func(n int32) bool { return n < 0 })
}
