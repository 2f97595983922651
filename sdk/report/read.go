package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/captf-toolkit/captf/sdk/harness"
)

// maxReport bounds a report that is read: one of many long stories is far smaller.
const maxReport = 256 << 20

// ErrNoReport is the cause of the error for a file that is something else.
var ErrNoReport = errors.New("not a JSON report of captf harness run or captf contract test")

// Read reads the JSON report of a run: one result, a list of them, or the
// report of captf contract test, whose runs it returns. A report of a later
// version may hold more than is known here; one that lacks what every report
// has is none ([ErrNoReport]).
func Read(r io.Reader) ([]*harness.Result, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxReport+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > maxReport:
		return nil, fmt.Errorf("it is larger than %d MiB", maxReport>>20)
	case len(bytes.TrimSpace(raw)) == 0:
		return nil, fmt.Errorf("it is empty: %w", ErrNoReport)
	}
	if err := checkJSON(raw); err != nil {
		return nil, err
	}
	if bytes.TrimSpace(raw)[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("the list is empty: %w", ErrNoReport)
		}
		return readAll(list)
	}
	var conformance struct {
		Runs []json.RawMessage `json:"runs"`
	}
	if err := json.Unmarshal(raw, &conformance); err == nil && conformance.Runs != nil {
		return readAll(conformance.Runs)
	}
	return readAll([]json.RawMessage{raw})
}

func readAll(list []json.RawMessage) ([]*harness.Result, error) {
	out := make([]*harness.Result, 0, len(list))
	for n, raw := range list {
		r, err := readOne(raw)
		if err != nil {
			if len(list) > 1 {
				err = fmt.Errorf("result %d of %d: %w", n+1, len(list), err)
			}
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func readOne(raw json.RawMessage) (*harness.Result, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return nil, fmt.Errorf("it is no object: %w", ErrNoReport)
	}
	for _, key := range []string{"verdict", "scenario", "controlPlane", "requirements", "steps"} {
		if _, ok := keys[key]; !ok {
			return nil, fmt.Errorf("it has no %q: %w", key, ErrNoReport)
		}
	}
	r := &harness.Result{}
	if err := json.Unmarshal(raw, r); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("%s is a %s: %w", wrong.Field, wrong.Value, ErrNoReport)
		}
		return nil, err
	}
	if words[r.Verdict] == "" {
		return nil, fmt.Errorf("its verdict is %q: %w", r.Verdict, ErrNoReport)
	}
	return r, nil
}

// checkJSON says where a text stops being JSON.
func checkJSON(raw []byte) error {
	var doc json.RawMessage
	err := json.Unmarshal(raw, &doc)
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := raw[:min(max(int(wrong.Offset)-1, 0), len(raw))]
		return fmt.Errorf("%d:%d: it is no JSON: %w", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'), err)
	}
	return err
}
