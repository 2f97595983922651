package diagnose

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestCatalogue has every bad or open reason of the provider's catalogue on an object: each has a gate, and what to do comes
// from the catalogue.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, g := range gates {
		known[g.ID] = true
	}
	reasons := map[string]bool{}
	for _, row := range catalogue() {
		if gate := ourGates[row.Type]; !known[gate] {
			t.Errorf("%s stands at the gate %q, which does not exist", row.Type, gate)
		}
		for _, r := range row.Reasons {
			reasons[r.Reason] = true
			if !row.bad(r.Status) && r.Status != "Unknown" || row.Polarity == "state" || slices.Contains(silent, r.Reason) {
				continue
			}
			n := carrier(row, r)
			in := &inspection{Objects: &Objects{root: &node{}}, Options: Options{Now: time.Unix(0, 0), Kubectl: "kubectl"}}
			f := in.judgeOurs(n, row, n.conditions[0], ourGates[row.Type])
			if r.Progress && slices.Contains(onlyNotes, ourGates[row.Type]) || row.Type == "InputsApplied" {
				continue
			}
			if f == nil {
				t.Errorf("%s %s %s is no finding", row.Type, r.Status, r.Reason)
				continue
			}
			if f.action != r.Action || f.action == "" || f.message == "" || len(f.command) == 0 {
				t.Errorf("%s %s %s: action %q, message %q, commands %v", row.Type, r.Status, r.Reason, f.action, f.message, f.command)
			}
			if stuck := (row.bad(r.Status) && !r.Progress && ourGates[row.Type] != gateUpkeep) || slices.Contains(needPerson, r.Reason); stuck != (f.state == StateStuck) {
				t.Errorf("%s %s %s: the state is %s", row.Type, r.Status, r.Reason, f.state)
			}
		}
	}
	for reason := range ourExtras {
		if !reasons[reason] {
			t.Errorf("%s is no reason of the catalogue", reason)
		}
	}
	for _, reason := range silent {
		if !reasons[reason] {
			t.Errorf("%s is no reason of the catalogue", reason)
		}
	}
}

// carrier is an object that has only one condition.
func carrier(row catalogueType, r catalogueReason) *node {
	kind := row.Carriers[0]
	obj := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "metadata": map[string]any{"name": "x", "namespace": "shop"}, "spec": map[string]any{}, "status": map[string]any{}}}
	n := &node{ref: Reference{Group: groupOurs, Kind: kind, Namespace: "shop", Name: "x"}, role: roleInfraMachine, obj: obj, parent: &node{}}
	n.conditions = []condition{{kind: row.Type, status: r.Status, reason: r.Reason, field: "status.conditions[" + row.Type + "]"}}
	return n
}

// TestUnknownReason: a provider that is newer is understood by its message.
func TestUnknownReason(t *testing.T) {
	t.Parallel()
	row := catalogue()[1]
	n := carrier(row, catalogueReason{Status: "False", Reason: "SomethingNew"})
	n.conditions[0].message = "the moon is in the wrong phase"
	in := &inspection{Objects: &Objects{root: &node{}}, Options: Options{Kubectl: "kubectl"}}
	f := in.judgeOurs(n, row, n.conditions[0], gateInputs)
	if f == nil || f.state != StateStuck || f.message != "the moon is in the wrong phase" || !strings.Contains(f.action, "older") {
		t.Errorf("got %+v", f)
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 90 * time.Second: "1m", 90 * time.Minute: "1h30m", 47 * time.Hour: "47h00m", 50 * time.Hour: "2d",
	} {
		if got := ago(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
