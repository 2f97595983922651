package harness_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
	"github.com/captf-toolkit/captf/sdk/harness/rke2"
)

// configRKE2 plays a scenario of RKE2ControlPlane on the given modules.
func configRKE2(t testing.TB, modules harness.Modules, scenario string, seed uint64) harness.Config {
	t.Helper()
	plane := rke2.New()
	for _, s := range plane.Scenarios {
		if s.ID == scenario {
			return harness.Config{Modules: modules, Definition: versions.Default(), ControlPlane: plane, Scenario: s, Seed: seed}
		}
	}
	t.Fatalf("there is no scenario %q", scenario)
	return harness.Config{}
}

// steps are the steps of a story, and what failed in it.
func steps(r *harness.Result) []byte {
	judged, _, _ := bytes.Cut(story(r), []byte("\n\n"))
	out := slices.Concat(judged, []byte("\n"))
	for _, q := range r.Requirements {
		if q.Status == harness.StatusFailed {
			out = fmt.Appendf(out, "%s fails: %s\n", q.ID, q.Reason)
		}
	}
	for _, n := range r.Notes {
		out = fmt.Appendf(out, "note: %s\n", n.Message)
	}
	return fmt.Appendf(out, "verdict %s\n", r.Verdict)
}

func TestStoriesRKE2(t *testing.T) {
	for _, scenario := range rke2.New().Scenarios {
		t.Run(scenario.ID, func(t *testing.T) {
			set := harnesstest.New(contract.Roles()...)
			result, err := harness.Play(context.Background(), configRKE2(t, set, scenario.ID, 1))
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			if strings.HasPrefix(strings.ToLower(scenario.ID), "r") {
				golden.Assert(t, "testdata/stories/rke2/"+scenario.ID+".golden", steps(result))
			}
			if result.Verdict != harness.VerdictPassed {
				t.Errorf("verdict is %s\n%s", result.Verdict, story(result))
			}
			if left := set.Objects(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
