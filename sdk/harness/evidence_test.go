package harness_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
)

func played(t *testing.T, scenario string, with func(*harnesstest.Set)) *harness.Result {
	t.Helper()
	set := harnesstest.New(contract.Roles()...)
	if with != nil {
		with(set)
	}
	result, err := harness.Play(context.Background(), config(t, set, scenario, 1))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Whoever waits at a gate for some time is told to wait, and to pass when it does.
func TestWaits(t *testing.T) {
	r := played(t, "K2", nil)
	open := map[string]string{}
	seen := map[string]bool{}
	last := 0.0
	for _, s := range r.Steps {
		if s.At < last {
			t.Errorf("the step %q at %v comes after one at %v", s.Event, s.At, last)
		}
		last = s.At
		if (s.Type == harness.EventWaiting || s.Type == harness.EventPassed) != (s.Gate != "") {
			t.Errorf("%s of %s has gate %q", s.Type, s.Object, s.Gate)
		}
		switch s.Type {
		case harness.EventWaiting:
			open[s.Object+" "+s.Gate] = s.Event
			seen[s.Gate] = true
		case harness.EventPassed:
			if open[s.Object+" "+s.Gate] == "" {
				t.Errorf("%s passes %s without having waited", s.Object, s.Gate)
			}
			delete(open, s.Object+" "+s.Gate)
		}
	}
	for _, gate := range []string{"kcp/infrastructure-provisioned", "capi/node-ref"} {
		if !seen[gate] {
			t.Errorf("nothing waits at %s; gates: %v", gate, seen)
		}
	}
}

// A result says what was made for each object, and what remained.
func TestObjects(t *testing.T) {
	r := played(t, "life", nil)
	story, probes := 0, 0
	for _, o := range r.Objects {
		if o.Created == 0 || o.Created < len(o.Addresses) || len(o.Addresses) == 0 {
			t.Errorf("%s: %d created, %v", o.Object, o.Created, o.Addresses)
		}
		if o.Remaining != 0 || len(o.RemainingAddresses) != 0 {
			t.Errorf("%s: %d remain, %v", o.Object, o.Remaining, o.RemainingAddresses)
		}
		if o.Probe {
			probes++
		} else if story++; probes > 0 {
			t.Errorf("%s of the story comes after a probe", o.Object)
		}
	}
	if story < 10 || probes == 0 {
		t.Errorf("%d objects of the story, %d of probes", story, probes)
	}
	kept := config(t, harnesstest.New(contract.Roles()...), "K2", 1)
	kept.Keep, kept.Scenario.Steps = true, kept.Scenario.Steps[:1]
	r, err := harness.Play(context.Background(), kept)
	if err != nil {
		t.Fatal(err)
	}
	remaining := 0
	for _, o := range r.Objects {
		remaining += o.Remaining
		if o.Remaining != len(o.RemainingAddresses) {
			t.Errorf("%s: %d remain, %v", o.Object, o.Remaining, o.RemainingAddresses)
		}
	}
	if remaining != 3 { // a cluster, a machine and its backend
		t.Errorf("%d resources remain, want 3", remaining)
	}
}

func requirement(t *testing.T, r *harness.Result, id string) harness.Requirement {
	t.Helper()
	n := slices.IndexFunc(r.Requirements, func(q harness.Requirement) bool { return q.ID == id })
	if n < 0 {
		t.Fatalf("the result has no %s", id)
	}
	return r.Requirements[n]
}

// A judgement names the run that it stands on, the output and the plan.
func TestProof(t *testing.T) {
	r := played(t, "K1", nil)
	if q := requirement(t, r, "CP-001"); len(q.Proof) == 0 || len(q.Proof[0].Outputs) != 1 {
		t.Errorf("CP-001 has the proof %+v", q.Proof)
	} else if diff := cmp.Diff(harness.OutputValue{
		Name: "control_plane_endpoint", Value: `{"host":"noop-demo.invalid","port":6443}`, Place: "modules/cluster/outputs.tf:1",
	}, q.Proof[0].Outputs[0]); diff != "" {
		t.Errorf("CP-001 (-want +got):\n%s", diff)
	}
	if q := requirement(t, r, "CP-030"); len(q.Proof) == 0 || !slices.Contains(q.Proof[0].State, "terraform_data.backend_member[0]") || len(q.Proof[0].Changes) != 2 {
		t.Errorf("CP-030 has the proof %+v", q.Proof)
	}
	if q := requirement(t, r, "CP-070"); len(q.Proof) == 0 || q.Proof[0].Outputs[0].Value != "names: backend_id" {
		t.Errorf("CP-070 has the proof %+v", q.Proof)
	}
}

// What a module marks sensitive is in no proof, nor is what an export holds.
func TestProofIsDiscreet(t *testing.T) {
	const secret = "s3cr3t-provider-0123456789"
	r := played(t, "K1", func(s *harnesstest.Set) {
		info := s.Infos[contract.RoleMachine]
		info.Sensitive = map[string]bool{"provider_id": true}
		s.Infos[contract.RoleMachine] = info
		s.Outputs = func(_ string, in contract.Inputs, values map[string]any) {
			switch in.Role() {
			case contract.RoleMachine:
				values["provider_id"] = secret
			case contract.RoleCluster:
				values["exports"] = map[string]any{"backend_id": "hush-hush-hush-123"}
			}
		}
	})
	for _, q := range r.Requirements {
		for _, p := range q.Proof {
			for _, o := range p.Outputs {
				if strings.Contains(o.Value, secret) || strings.Contains(o.Value, "hush-hush") {
					t.Errorf("%s shows %s = %s", q.ID, o.Name, o.Value)
				}
			}
		}
	}
	if q := requirement(t, r, "CP-040"); len(q.Proof) == 0 || q.Proof[0].Outputs[0].Value != "(sensitive)" {
		t.Errorf("CP-040 has the proof %+v", q.Proof)
	}
}

// Each id for which a proof is planned is one that there is.
func TestShownIDs(t *testing.T) {
	known := harness.ResultIDs(config(t, harnesstest.New(contract.Roles()...), "K1", 1).Definition)
	for _, id := range harness.ShownIDs() {
		if !slices.Contains(known, id) {
			t.Errorf("%s is no id of a result", id)
		}
	}
}
