package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
)

// A module may say that it takes no packed payload; that is not the same as
// breaking over one.
func TestPackedPayloadMayBeRefused(t *testing.T) {
	for summary, verdict := range map[string]harness.Verdict{
		"Resource precondition failed": harness.VerdictPassed,
		"Invalid value for variable":   harness.VerdictPassed,
		"Error in function call":       harness.VerdictFailed,
	} {
		t.Run(summary, func(t *testing.T) {
			set := harnesstest.New(contract.Roles()...)
			set.Fail = func(_ harness.Op, _ string, in contract.Inputs) string {
				if m, ok := in.(*contract.MachineInputs); ok && bytes.HasPrefix(m.Bootstrap.Data, []byte{0x1f, 0x8b}) {
					return summary
				}
				return ""
			}
			result, err := harness.Play(context.Background(), config(t, set, "life", 1))
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			if result.Verdict != verdict {
				t.Errorf("verdict is %s, want %s\n%s", result.Verdict, verdict, story(result))
			}
		})
	}
}

// Where the plan does not show how the payload arrives, a person is asked.
func TestPayloadThatCannotBeFollowed(t *testing.T) {
	set := harnesstest.New(contract.Roles()...)
	set.Planned = func(in contract.Inputs, content json.RawMessage) json.RawMessage {
		m, ok := in.(*contract.MachineInputs)
		if !ok {
			return content
		}
		raw, err := json.Marshal(map[string]int{"checksum": bytesSum(m.Bootstrap.Data)})
		if err != nil {
			t.Error(err)
		}
		return raw
	}
	result, err := harness.Play(context.Background(), config(t, set, "life", 1))
	if err != nil {
		t.Fatalf("playing: %v", err)
	}
	for _, q := range result.Requirements {
		if q.ID == "CP-047" && (q.Status != harness.StatusManual || !strings.Contains(q.Reason, "byte for byte?")) {
			t.Errorf("CP-047 is %s: %s", q.Status, q.Reason)
		}
	}
	if result.Verdict != harness.VerdictPassed {
		t.Errorf("verdict is %s", result.Verdict)
	}
}

func bytesSum(data []byte) int {
	sum := 0
	for n, b := range data {
		sum += (n + 1) * int(b)
	}
	return sum
}

// TestTriesDoNotShareAnObject: what is tried to find the cause of a failure is tried on objects of its own. Two tries on one would
// share a state, and what the first made could not be destroyed with the inputs of the second.
func TestTriesDoNotShareAnObject(t *testing.T) {
	set := harnesstest.New(contract.Roles()...)
	var mu sync.Mutex
	applied := map[string][][]byte{}
	set.Fail = func(op harness.Op, object string, in contract.Inputs) string {
		m, ok := in.(*contract.MachineInputs)
		if !ok || !strings.Contains(object, "probe-blame") {
			if ok && op == harness.OpApply && breaksOverGzip(m) {
				return "Error in function call"
			}
			return ""
		}
		mu.Lock()
		defer mu.Unlock()
		if op == harness.OpApply {
			applied[object] = append(applied[object], m.Bootstrap.Data)
		}
		if breaksOverGzip(m) {
			return "Error in function call"
		}
		return ""
	}
	cfg := configRKE2(t, set, "R5", 1)
	result, err := harness.Play(context.Background(), cfg)
	if err != nil {
		t.Fatalf("playing: %v", err)
	}
	if len(applied) < 2 {
		t.Fatalf("there were tries on %d objects, want several\n%s", len(applied), story(result))
	}
	for object, payloads := range applied {
		if len(payloads) != 1 {
			t.Errorf("%s was applied %d times", object, len(payloads))
		}
	}
}
