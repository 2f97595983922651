package harness_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
)

// What stands between the endpoint and the API servers makes a story stall at
// the gate that Cluster API would wait at, with the requirement that is broken.
func TestEndpointUnreachable(t *testing.T) {
	member := func(pattern harness.Pattern, members ...harness.Member) func(*harnesstest.Set) {
		return func(s *harnesstest.Set) {
			info := s.Infos[contract.RoleMachine]
			info.Membership = &harness.Membership{Pattern: pattern, Declared: true, Members: members}
			s.Infos[contract.RoleMachine] = info
		}
	}
	tests := []struct {
		name       string
		with       func(*harnesstest.Set)
		hairpinOff bool
		gate, id   string
		says       string
		pattern    harness.Pattern
		source     string
	}{
		{name: "pattern A", pattern: "A", source: "declared"},
		{name: "pattern A, no attachment", with: member("A", harness.Member{Listener: "api", Address: "terraform_data.nowhere"}),
			gate: "capi/workload-reachable", id: "CP-030", says: "The api listener has no backend", pattern: "A", source: "declared"},
		{name: "pattern B, selector not set", with: member("B", harness.Member{Listener: "api", Address: "terraform_data.instance", Path: []string{"tags", "backend"}}),
			gate: "capi/workload-reachable", id: "CP-030", says: "serves and is not registered", pattern: "B", source: "declared"},
		{name: "no hairpin", hairpinOff: true, gate: "capi/node-ref", id: "CP-020", says: "leads no backend back to itself", pattern: "A", source: "declared"},
		{name: "pattern C knows no hairpin", with: member("C"), hairpinOff: true, pattern: "C", source: "declared"},
		{name: "unknown membership", with: func(s *harnesstest.Set) {
			info := s.Infos[contract.RoleMachine]
			info.Membership = nil
			s.Infos[contract.RoleMachine] = info
		}, source: "assumed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := harnesstest.New(contract.Roles()...)
			if tt.with != nil {
				tt.with(set)
			}
			cfg := config(t, set, "K2", 1)
			cfg.Scenario.HairpinOff = tt.hairpinOff
			result, err := harness.Play(context.Background(), cfg)
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			if lb := result.LoadBalancer; lb == nil || lb.Pattern != tt.pattern || lb.Source != tt.source || lb.Description == "" {
				t.Errorf("the load balancer is %+v", lb)
			}
			if tt.gate == "" {
				if result.Stalled != nil || result.Verdict != harness.VerdictPassed {
					t.Errorf("stalled: %+v\n%s", result.Stalled, story(result))
				}
				return
			}
			if s := result.Stalled; s == nil || s.Gate != tt.gate || s.Requirement != tt.id || !strings.Contains(s.Message, tt.says) || s.Remedy == "" {
				t.Fatalf("stalled: %+v\n%s", s, story(result))
			}
			for _, q := range result.Requirements {
				if q.Status == harness.StatusFailed && q.ID != tt.id {
					t.Errorf("%s is blamed too: %s", q.ID, q.Reason)
				}
			}
			if len(set.Objects()) > 0 {
				t.Errorf("left behind: %v", set.Objects())
			}
		})
	}
}

// A control plane that loses a member tells of the backend that is dead until
// the balancer notices, and of the one that leaves.
func TestBackendsInTheStory(t *testing.T) {
	result, err := harness.Play(context.Background(), config(t, harnesstest.New(contract.Roles()...), "K6", 1))
	if err != nil {
		t.Fatalf("playing: %v", err)
	}
	var said []string
	for _, s := range result.Steps {
		if s.Type == harness.EventBackend {
			said = append(said, s.Event)
		}
	}
	for _, part := range []string{"is a healthy backend", "is a dead backend", "is no backend"} {
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, part) }) {
			t.Errorf("no line says %q: %q", part, said)
		}
	}
}
