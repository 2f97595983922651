package contract_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
)

func TestViolations(t *testing.T) {
	sorted := contract.Violations{
		{Path: "outputs.z", Reason: contract.ReasonMissing, Rule: "declared", Message: "is gone"},
		{Path: "outputs.a", Reason: contract.ReasonInvalid, Rule: "enum"},
		{Path: "outputs.a", Reason: contract.ReasonInvalid, Rule: "type"},
		{Path: "outputs.ab", Reason: contract.ReasonFailureDomainMismatch},
		{Path: "outputs.a[0]", Reason: contract.ReasonProviderIDChanged},
		{Path: "outputs.a.b", Reason: contract.ReasonPending},
		{Path: "outputs.a", Reason: contract.ReasonTruncated},
		{Path: "outputs.a", Reason: contract.ReasonNotice},
	}
	for range 5 {
		vs := append(contract.Violations(nil), sorted...)
		rand.Shuffle(len(vs), func(i, j int) { vs[i], vs[j] = vs[j], vs[i] })
		vs.Sort()
		if diff := cmp.Diff(sorted, vs); diff != "" {
			t.Fatalf("sorted (-want +got):\n%s", diff)
		}
	}
	if got := sorted.Blocking(); len(got) != 5 {
		t.Errorf("%d violations block, want 5", len(got))
	}
	if got := sorted.Under("outputs.a"); len(got) != 6 {
		t.Errorf("%d violations are under outputs.a, want 6: %v", len(got), got)
	}
	if !sorted.Has("enum") || sorted.Has("const") {
		t.Error("Has is wrong about the rules")
	}
	if got, want := sorted[0].String(), "outputs.z: is gone (Missing)"; got != want {
		t.Errorf("one line is %q, want %q", got, want)
	}
	if got := strings.Count(sorted.Error(), "\n"); got != 7 {
		t.Errorf("the error has %d line breaks, want 7", got)
	}
}

// TestOutputsValid is the precedence of contract.md 15.
func TestOutputsValid(t *testing.T) {
	order := []struct {
		reason contract.Reason
		status contract.ConditionStatus
		want   string
	}{
		{contract.ReasonMissing, "False", "OutputsMissing"},
		{contract.ReasonInvalid, "False", "OutputsInvalid"},
		{contract.ReasonFailureDomainMismatch, "False", "FailureDomainMismatch"},
		{contract.ReasonProviderIDChanged, "False", "ProviderIDChanged"},
		{contract.ReasonPending, "Unknown", "OutputsPending"},
		{contract.ReasonTruncated, "True", "InstancesTruncated"},
		{contract.ReasonNotice, "True", "OutputsValid"},
	}
	for i, row := range order {
		var vs contract.Violations
		for _, later := range order[i:] {
			vs = append(vs, contract.Violation{Path: string(later.reason), Message: "m", Reason: later.reason})
		}
		c := vs.OutputsValid()
		if c.Status != row.status || c.Reason != row.want {
			t.Errorf("%s first: %+v", row.reason, c)
		}
		var want []string
		for _, later := range order[i : len(order)-1] {
			want = append(want, string(later.reason)+": m")
		}
		if got := strings.Join(want, "; "); i < len(order)-1 && c.Message != got {
			t.Errorf("%s first: message is %q, want %q", row.reason, c.Message, got)
		}
	}
	if c := (contract.Violations{}).OutputsValid(); c.Reason != "OutputsValid" || c.Message != "" {
		t.Errorf("without violations: %+v", c)
	}
}

func TestLongMessage(t *testing.T) {
	var vs contract.Violations
	for range 10 {
		vs = append(vs, contract.Violation{Path: "p", Message: strings.Repeat("x", 5000), Reason: contract.ReasonInvalid})
	}
	c := vs.OutputsValid()
	if len(c.Message) > 32768 || !strings.HasSuffix(c.Message, "; and 4 more") {
		t.Errorf("message has %d bytes and ends in %q", len(c.Message), c.Message[len(c.Message)-20:])
	}
}

func TestRoles(t *testing.T) {
	for _, role := range contract.Roles() {
		if got, err := contract.ParseRole(string(role)); err != nil || got != role {
			t.Errorf("parsing %s: %s, %v", role, got, err)
		}
	}
	_, err := contract.ParseRole("router")
	if err == nil || !strings.Contains(err.Error(), "cluster, machine, machinepool") {
		t.Errorf("parsing an unknown role: %v", err)
	}
	if contract.Role("router").Kind() != "" || contract.Role("router").ShortKind() != "" {
		t.Error("an unknown role has a kind")
	}
}

func TestSpecLookups(t *testing.T) {
	d := versions.Default()
	spec := d.Spec(contract.RoleMachine)
	if _, ok := spec.Input("machine_name"); !ok {
		t.Error("there is no input machine_name")
	}
	if _, ok := spec.Input("replicas"); ok {
		t.Error("a machine has the input replicas")
	}
	if _, ok := spec.Output("replicas"); ok {
		t.Error("a machine has the output replicas")
	}
	if len(d.Limits()) == 0 || len(d.Changes()) == 0 {
		t.Error("there are no limits or no changelog")
	}
}
