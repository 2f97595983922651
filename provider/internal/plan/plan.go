// Package plan judges a planned change by the JSON form of a saved plan (`show -json`): a fingerprint that is the same if
// and only if the same would be done (provider-ops.md 5.1, B-748..B-752), counts and a list without values for people to
// review, whether something would be deleted, and what of it is drift.
//
// The package is pure. The fingerprint is keyed, so that it does not give away the values that it covers.
//
// Not in this package: running a runtime, keeping the key (package broker), and deciding what a plan may do (package runner).
package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/captf-toolkit/captf/provider/internal/result"
)

// KeySize is the size of a plan key in bytes, and the least that [Judge] takes (B-363, B-384).
const KeySize = 32

// MaxBytes is the largest plan that is read, in its JSON form.
const MaxBytes = 256 << 20

// Report is what a plan would do. It holds no values.
type Report struct {
	// Plan has the hash, the counts and the list of resources.
	result.Plan
	// Destructive tells that something would be deleted or replaced (B-730). Forgetting, importing and moving are not.
	Destructive bool `json:"destructive"`
	// Empty tells that there is nothing to be done at all; the hash is then [EmptyHash].
	Empty bool `json:"empty"`
}

// Judge tells what a plan, in its JSON form, would do. The key is that of the object; a shorter one than [KeySize] is
// refused.
func Judge(key, planJSON []byte) (*Report, error) {
	if len(key) < KeySize {
		return nil, fmt.Errorf("judging plan: the plan key has %d bytes, fewer than %d", len(key), KeySize)
	}
	p, err := decode(planJSON)
	if err != nil {
		return nil, fmt.Errorf("judging plan: %w", err)
	}
	r := p.summary()
	lines, err := p.lines(key)
	if err != nil {
		return nil, fmt.Errorf("judging plan: %w", err)
	}
	r.Empty = len(lines) == 0
	r.Hash = hash(lines)
	return r, nil
}

// DriftOf tells what of a plan is drift (B-683). The plan is one without a refresh, made right after one.
func DriftOf(planJSON []byte) (*result.Drift, error) {
	p, err := decode(planJSON)
	if err != nil {
		return nil, fmt.Errorf("reading drift: %w", err)
	}
	return p.drift(), nil
}

// decoded is what is read of a plan.
type decoded struct {
	Format    string                    `json:"format_version"`
	Errored   bool                      `json:"errored"`
	Resources []*tfjson.ResourceChange  `json:"resource_changes"`
	Outputs   map[string]*tfjson.Change `json:"output_changes"`
}

func decode(planJSON []byte) (*decoded, error) {
	if len(planJSON) > MaxBytes {
		return nil, fmt.Errorf("the plan has more than %d MiB", MaxBytes>>20)
	}
	p := &decoded{}
	dec := json.NewDecoder(bytes.NewReader(planJSON))
	dec.UseNumber() // a number is what was written, not what a float64 makes of it
	if err := dec.Decode(p); err != nil {
		return nil, fmt.Errorf("decoding plan: %w", withoutValue(err))
	}
	if err := (&tfjson.Plan{FormatVersion: p.Format}).Validate(); err != nil {
		return nil, fmt.Errorf("decoding plan: %w", err)
	}
	if p.Errored {
		return nil, errors.New("decoding plan: it is the rest of a plan that failed")
	}
	for i, r := range p.Resources {
		if r == nil || r.Address == "" || r.Change == nil || len(r.Change.Actions) == 0 {
			return nil, fmt.Errorf("decoding plan: resource_changes[%d] has no address or no actions", i)
		}
	}
	for name, c := range p.Outputs {
		if c == nil || len(c.Actions) == 0 {
			return nil, fmt.Errorf("decoding plan: output_changes of %q has no actions", name)
		}
	}
	return p, nil
}

// withoutValue keeps an error of the JSON decoder from quoting the plan.
func withoutValue(err error) error {
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s has another type than expected, at byte %d", te.Field, te.Offset)
	}
	return err
}

func isReplace(a tfjson.Actions) bool {
	return len(a) > 1 && slices.Contains(a, tfjson.ActionCreate)
}

func deletes(a tfjson.Actions) bool { return slices.Contains(a, tfjson.ActionDelete) }

func moved(r *tfjson.ResourceChange) bool {
	return r.PreviousAddress != "" && r.PreviousAddress != r.Address
}

// included reports whether a change is one (B-749): it does something, imports or moves.
func included(r *tfjson.ResourceChange) bool {
	return !r.Change.Actions.NoOp() || r.Change.Importing != nil || moved(r)
}

// words say what is done to a resource, such as "replace" or "update, import".
func words(r *tfjson.ResourceChange) string {
	var list []string
	switch a := r.Change.Actions; {
	case isReplace(a):
		list = append(list, "replace")
	case a.NoOp():
	default:
		for _, one := range a {
			list = append(list, string(one))
		}
	}
	if r.Change.Importing != nil {
		list = append(list, "import")
	}
	if moved(r) {
		list = append(list, "move")
	}
	return strings.Join(list, ", ")
}

func (p *decoded) summary() *Report {
	r := &Report{}
	type entry struct {
		address, text string
		destructive   bool
	}
	var entries []entry
	for _, c := range p.Resources {
		a := c.Change.Actions
		switch {
		case isReplace(a):
			r.Replace++
		case a.Create():
			r.Create++
		case a.Update():
			r.Update++
		case a.Delete():
			r.Delete++
		case len(a) == 1 && a[0] == tfjson.ActionForget:
			r.Forget++
		}
		if c.Change.Importing != nil {
			r.Import++
		}
		if moved(c) {
			r.Move++
		}
		if deletes(a) {
			r.Destructive = true
		}
		if included(c) {
			entries = append(entries, entry{c.Address, c.Address + " (" + words(c) + ")", deletes(a)})
		}
	}
	for _, c := range p.Outputs {
		if !c.Actions.NoOp() {
			r.OutputChanges++
		}
	}
	// What is deleted must not be hidden behind what is not, so it is taken first.
	slices.SortStableFunc(entries, func(a, b entry) int {
		if a.destructive != b.destructive {
			if a.destructive {
				return -1
			}
			return 1
		}
		return strings.Compare(a.address, b.address)
	})
	if len(entries) > result.MaxPlanResources {
		entries, r.Truncated = entries[:result.MaxPlanResources], true
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.address, b.address) })
	for _, e := range entries {
		r.Resources = append(r.Resources, e.text)
	}
	return r
}

func (p *decoded) drift() *result.Drift {
	d := &result.Drift{}
	for _, c := range p.Resources {
		if c.Mode == tfjson.DataResourceMode {
			continue
		}
		switch a := c.Change.Actions; {
		case isReplace(a):
			d.Replace++
		case a.Create():
			d.Create++
		case a.Update():
			d.Update++
		case a.Delete():
			d.Delete++
		default:
			continue
		}
		if len(d.Resources) == result.MaxDriftResources {
			d.Truncated = true
			continue
		}
		d.Resources = append(d.Resources, c.Address)
	}
	d.Detected = d.Create+d.Update+d.Replace+d.Delete > 0
	slices.Sort(d.Resources)
	return d
}
