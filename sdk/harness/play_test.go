package harness_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
)

// config plays a scenario of KubeadmControlPlane on the given modules.
func config(t testing.TB, modules harness.Modules, scenario string, seed uint64) harness.Config {
	t.Helper()
	plane := kcp.New()
	for _, s := range plane.Scenarios {
		if s.ID == scenario {
			return harness.Config{Modules: modules, Definition: versions.Default(), ControlPlane: plane, Scenario: s, Seed: seed}
		}
	}
	t.Fatalf("there is no scenario %q", scenario)
	return harness.Config{}
}

// story writes the steps one a line, without real times.
func story(r *harness.Result) []byte {
	var b bytes.Buffer
	for _, s := range r.Steps {
		if s.Gate != "" {
			continue // TestWaits
		}
		fmt.Fprintf(&b, "%8.0fs  %-12s %-34s %s\n", s.At, s.Actor, s.Object, s.Event)
	}
	b.WriteString("\n")
	for _, q := range r.Requirements {
		fmt.Fprintf(&b, "%-24s %-14s %s\n", q.ID, q.Status, q.Reason)
	}
	fmt.Fprintf(&b, "\nverdict %s\n", r.Verdict)
	if r.Stalled != nil {
		fmt.Fprintf(&b, "stalled at %s: %s\n", r.Stalled.Gate, r.Stalled.Message)
	}
	return b.Bytes()
}

func TestStories(t *testing.T) {
	for _, scenario := range kcp.New().Scenarios {
		t.Run(scenario.ID, func(t *testing.T) {
			set := harnesstest.New(contract.Roles()...)
			result, err := harness.Play(context.Background(), config(t, set, scenario.ID, 1))
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			golden.Assert(t, "testdata/stories/"+scenario.ID+".golden", story(result))
			if result.Verdict != harness.VerdictPassed {
				t.Errorf("verdict is %s", result.Verdict)
			}
			if left := set.Objects(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
