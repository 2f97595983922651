package conditions_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestSet(t *testing.T) {
	obj := &infrav1.TerraformMachine{}
	obj.Generation = 3
	if !conditions.Set(obj, "Ready", conditions.Unknown("A", "waiting for %s", "x"), start) {
		t.Error("the first value is no change")
	}
	later := start.Add(time.Hour)
	if conditions.Set(obj, "Ready", conditions.Unknown("A", "waiting for x"), later) {
		t.Error("the same value is a change")
	}
	if !conditions.Set(obj, "Ready", conditions.Unknown("B", "waiting for y"), later) {
		t.Error("another reason is no change")
	}
	if got := conditions.Get(obj, "Ready").LastTransitionTime.Time; !got.Equal(start) {
		t.Errorf("the time moved to %s with the reason", got)
	}
	obj.Generation = 4
	if !conditions.Set(obj, "Ready", conditions.Unknown("B", "waiting for y"), later) || conditions.Get(obj, "Ready").ObservedGeneration != 4 {
		t.Error("the generation is not told")
	}
	conditions.Set(obj, "Ready", conditions.True("C", ""), later)
	if got := conditions.Get(obj, "Ready").LastTransitionTime.Time; !got.Equal(later) {
		t.Errorf("the time is %s after the status changed, want %s", got, later)
	}
	if conditions.Get(obj, "Other") != nil || meta.IsStatusConditionTrue(obj.GetConditions(), "Other") || conditions.HasReason(obj, "Other", "C") {
		t.Error("a condition is there that was not set")
	}
	if !meta.IsStatusConditionTrue(obj.GetConditions(), "Ready") || !conditions.HasReason(obj, "Ready", "X", "C") || conditions.HasReason(obj, "Ready", "X") {
		t.Error("the condition is not found")
	}
}

func TestSetCutsMessages(t *testing.T) {
	obj := &infrav1.TerraformMachine{}
	conditions.Set(obj, "Ready", conditions.False("A", "%s", strings.Repeat("ä", 40000)), start)
	if n := utf8.RuneCountInString(conditions.Get(obj, "Ready").Message); n != 32768 {
		t.Errorf("the message has %d characters", n)
	}
}

// TestSettle keeps the time of a condition that was something else only in between, and not that of one that has changed.
func TestSettle(t *testing.T) {
	obj := &infrav1.TerraformCluster{}
	first, later := time.Unix(1000, 0), time.Unix(2000, 0)
	conditions.Set(obj, infrav1.StateReadableCondition, conditions.False(infrav1.StateLockedReason, ""), first)
	conditions.Set(obj, infrav1.PausedCondition, conditions.False(infrav1.NotPausedReason, ""), first)
	stored := slices.Clone(obj.GetConditions())
	conditions.Set(obj, infrav1.StateReadableCondition, conditions.True(infrav1.StateReadReason, ""), later)
	conditions.Set(obj, infrav1.StateReadableCondition, conditions.False(infrav1.StateLockedReason, ""), later)
	conditions.Set(obj, infrav1.PausedCondition, conditions.True(infrav1.PausedReason, ""), later)
	conditions.Set(obj, infrav1.DeletingCondition, conditions.True(infrav1.DeletingReason, ""), later)
	conditions.Settle(obj, stored)
	for of, want := range map[string]time.Time{infrav1.StateReadableCondition: first, infrav1.PausedCondition: later, infrav1.DeletingCondition: later} {
		if at := conditions.Get(obj, of).LastTransitionTime; !at.Time.Equal(want) {
			t.Errorf("%s is since %s, want %s", of, at, want)
		}
	}
}

func TestInitialize(t *testing.T) {
	for _, c := range []struct {
		obj  infrav1.Workspace
		want []string
	}{
		{&infrav1.TerraformCluster{}, []string{"DeletionBlocked=False/NotBlocked", "DriftDetected=Unknown/DriftNotChecked", "DriftJobSucceeded=Unknown/DriftNotChecked"}},
		{&infrav1.TerraformMachine{}, []string{"DriftDetected=Unknown/DriftNotChecked", "DriftJobSucceeded=Unknown/DriftNotChecked"}},
	} {
		conditions.Initialize(c.obj, start)
		conditions.Initialize(c.obj, start.Add(time.Hour))
		if diff := cmp.Diff(c.want, short(c.obj.GetConditions())); diff != "" {
			t.Errorf("%T (-want +got):\n%s", c.obj, diff)
		}
	}
}

func short(list []metav1.Condition) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Type+"="+string(c.Status)+"/"+c.Reason)
	}
	return out
}

func objectOf(role contract.Role, provisioned bool) infrav1.Workspace {
	obj := map[contract.Role]infrav1.Workspace{
		contract.RoleCluster: &infrav1.TerraformCluster{}, contract.RoleMachine: &infrav1.TerraformMachine{},
		contract.RoleMachinePool: &infrav1.TerraformMachinePool{},
	}[role]
	if provisioned {
		obj.WorkspaceStatus().Initialization = &infrav1.InitializationStatus{Provisioned: &provisioned}
	}
	return obj
}

func TestReady(t *testing.T) {
	good := []conditions.Condition{}
	for _, name := range conditions.ReadyInputs(contract.RoleMachine, false) {
		value := conditions.True("Fine", "all is well")
		if name == "Deleting" {
			value = conditions.False("NotDeleting", "")
		}
		good = append(good, conditions.Condition{Type: name, Value: value})
	}
	with := func(changes ...conditions.Condition) []conditions.Condition {
		return append(append([]conditions.Condition{}, good...), changes...)
	}
	cond := func(name string, v conditions.Value) conditions.Condition {
		return conditions.Condition{Type: name, Value: v}
	}
	cases := map[string]struct {
		role        contract.Role
		provisioned bool
		set         []conditions.Condition
		want        string
		message     []string
	}{
		"nothing is known":                     {role: contract.RoleMachine, want: "Unknown/ReadyUnknown", message: []string{"DependenciesReady", "InfrastructureHealthy"}},
		"all is well":                          {role: contract.RoleMachine, set: good, want: "True/Ready"},
		"Deleting may be missing":              {role: contract.RoleMachine, set: good[:len(good)-1], want: "True/Ready"},
		"a wait":                               {role: contract.RoleMachine, set: with(cond("DependenciesReady", conditions.Unknown("WaitingForOwner", "waiting for an owner"))), want: "Unknown/ReadyUnknown", message: []string{"DependenciesReady: WaitingForOwner: waiting for an owner"}},
		"a failure outranks a wait":            {role: contract.RoleMachine, set: with(cond("DependenciesReady", conditions.Unknown("WaitingForOwner", "x")), cond("OutputsValid", conditions.False("OutputsInvalid", "outputs.health: bad"))), want: "False/NotReady", message: []string{"OutputsValid: OutputsInvalid: outputs.health: bad", "WaitingForOwner"}},
		"a reason without message":             {role: contract.RoleMachine, set: with(cond("OutputsValid", conditions.False("OutputsInvalid", ""))), want: "False/NotReady", message: []string{"OutputsValid: OutputsInvalid"}},
		"deleting is bad":                      {role: contract.RoleMachine, set: with(cond("Deleting", conditions.True("Deleting", "waits for the Job"))), want: "False/NotReady", message: []string{"Deleting"}},
		"provisioned, and an apply fails":      {role: contract.RoleCluster, provisioned: true, set: with(cond("ApplyJobSucceeded", conditions.False("ApplyFailed", "x")), cond("IdentityAllowed", conditions.False("IdentityNotFound", "x"))), want: "True/Ready"},
		"provisioned pool, and an apply fails": {role: contract.RoleMachinePool, provisioned: true, set: with(cond("ApplyJobSucceeded", conditions.False("ApplyFailed", "x"))), want: "False/NotReady", message: []string{"ApplyJobSucceeded"}},
		"provisioned, health is not known":     {role: contract.RoleMachine, provisioned: true, set: with(cond("InfrastructureHealthy", conditions.Unknown("HealthUnknown", ""))), want: "Unknown/ReadyUnknown"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := objectOf(c.role, c.provisioned)
			conditions.SetAll(obj, c.set, start)
			if _, err := conditions.SetReady(obj, start); err != nil {
				t.Fatal(err)
			}
			ready := conditions.Get(obj, "Ready")
			if got := string(ready.Status) + "/" + ready.Reason; got != c.want {
				t.Errorf("Ready is %s, want %s: %s", got, c.want, ready.Message)
			}
			for _, text := range c.message {
				if !strings.Contains(ready.Message, text) {
					t.Errorf("the message does not tell %q:\n%s", text, ready.Message)
				}
			}
			if changed, err := conditions.SetReady(obj, start.Add(time.Hour)); err != nil || changed {
				t.Errorf("summing up once more changes something (%v)", err)
			}
		})
	}
}

// TestReadyInputs states the table of provider-status.md 1.1.
func TestReadyInputs(t *testing.T) {
	nine := []string{"DependenciesReady", "IdentityAllowed", "CredentialsMirrored", "RunnerRBACReady", "ApplyJobSucceeded", "StateReadable", "OutputsValid", "InfrastructureHealthy", "Deleting"}
	for _, c := range []struct {
		role        contract.Role
		provisioned bool
		want        []string
	}{
		{contract.RoleCluster, false, nine},
		{contract.RoleMachine, false, nine},
		{contract.RoleMachinePool, false, nine},
		{contract.RoleCluster, true, []string{"InfrastructureHealthy", "Deleting"}},
		{contract.RoleMachine, true, []string{"InfrastructureHealthy", "Deleting"}},
		{contract.RoleMachinePool, true, []string{"ApplyJobSucceeded", "InfrastructureHealthy", "Deleting"}},
	} {
		if diff := cmp.Diff(c.want, conditions.ReadyInputs(c.role, c.provisioned)); diff != "" {
			t.Errorf("%s, provisioned %t (-want +got):\n%s", c.role, c.provisioned, diff)
		}
	}
}

func TestTransitions(t *testing.T) {
	value := func(text string) []metav1.Condition {
		if text == "" {
			return nil
		}
		name, rest, _ := strings.Cut(text, "=")
		status, reason, _ := strings.Cut(rest, "/")
		return []metav1.Condition{{Type: name, Status: metav1.ConditionStatus(status), Reason: reason, Message: "because"}}
	}
	for _, c := range []struct{ from, to, want string }{
		{"", "OutputsValid=True/OutputsValid", ""},
		{"", "OutputsValid=Unknown/OutputsPending", ""},
		{"", "OutputsValid=False/OutputsInvalid", "Warning OutputsInvalid"},
		{"OutputsValid=False/OutputsInvalid", "OutputsValid=False/OutputsInvalid", ""},
		{"OutputsValid=False/OutputsInvalid", "OutputsValid=False/ProviderIDChanged", "Warning OutputsInvalid"},
		{"OutputsValid=False/OutputsInvalid", "OutputsValid=True/OutputsValid", "Normal ConditionChanged"},
		{"InfrastructureHealthy=False/Provisioning", "InfrastructureHealthy=True/Healthy", "Normal InstanceHealthy"},
		{"InfrastructureHealthy=True/Healthy", "InfrastructureHealthy=False/InstanceStopped", "Warning InstanceUnhealthy"},
		{"InfrastructureHealthy=Unknown/WaitingForProvisioning", "InfrastructureHealthy=False/Provisioning", "Normal ConditionChanged"},
		{"DependenciesReady=Unknown/WaitingForOwner", "DependenciesReady=False/OwnerMismatch", "Warning ConditionChanged"},
		{"IdentityAllowed=True/IdentityAllowed", "IdentityAllowed=False/NamespaceNotAllowed", "Warning IdentityNotAllowed"},
		{"", "Deleting=False/NotDeleting", ""},
		{"", "Deleting=True/Deleting", "Normal DeletionStarted"},
		{"Deleting=False/NotDeleting", "Deleting=True/Deleting", "Normal DeletionStarted"},
		{"", "Paused=False/NotPaused", ""},
		{"Paused=False/NotPaused", "Paused=True/Paused", "Normal Paused"},
		{"Paused=True/Paused", "Paused=False/NotPaused", "Normal Resumed"},
		{"DriftDetected=True/DriftReported", "DriftDetected=False/NoDrift", "Normal DriftResolved"},
		{"DriftDetected=Unknown/DriftNotChecked", "DriftDetected=False/NoDrift", "Normal ConditionChanged"},
		{"ApplyJobSucceeded=Unknown/NoApplyYet", "ApplyJobSucceeded=True/ApplySucceeded", ""},
		{"ApplyJobSucceeded=Unknown/NoApplyYet", "ApplyJobSucceeded=Unknown/WaitingForJobSlot", "Normal WaitingForJobSlot"},
		{"", "ApplyJobSucceeded=Unknown/WaitingForJobSlot", "Normal WaitingForJobSlot"},
		{"", "ApplyJobSucceeded=Unknown/NoApplyYet", ""},
		{"ApplyJobSucceeded=Unknown/NoApplyYet", "ApplyJobSucceeded=False/InputsTooLarge", "Warning JobFailed"},
		{"InputsApplied=False/ApplyPending", "InputsApplied=True/InputsApplied", ""},
		{"Ready=Unknown/ReadyUnknown", "Ready=True/Ready", "Normal ConditionChanged"},
		{"StateReadable=True/StateRead", "StateReadable=False/StateLost", "Warning StateLost"},
		{"Foreign=True/A", "Foreign=False/B", ""},
	} {
		got := ""
		events := conditions.Transitions(value(c.from), value(c.to))
		for _, e := range events {
			got += e.Type + " " + e.Reason
			if e.Action == "" || !strings.Contains(e.Note, "because") {
				t.Errorf("from %q to %q: the event lacks action or note: %+v", c.from, c.to, e)
			}
		}
		if got != c.want {
			t.Errorf("from %q to %q: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

// TestReadyEvent warns of an object that is not ready if something is wrong, and not while it is on its way.
func TestReadyEvent(t *testing.T) {
	before := []metav1.Condition{{Type: "Ready", Status: "Unknown", Reason: "ReadyUnknown"}}
	for name, test := range map[string]struct {
		with metav1.Condition
		want string
	}{
		"the first apply runs": {metav1.Condition{Type: "InfrastructureHealthy", Status: "False", Reason: "Provisioning"}, "Normal"},
		"an instance is gone":  {metav1.Condition{Type: "InfrastructureHealthy", Status: "False", Reason: "InstanceStopped"}, "Warning"},
		"another fails":        {metav1.Condition{Type: "OutputsValid", Status: "False", Reason: "OutputsInvalid"}, "Warning"},
		"it does not count":    {metav1.Condition{Type: "DriftJobSucceeded", Status: "False", Reason: "DriftJobFailed"}, "Normal"},
	} {
		events := conditions.Transitions(append(before, test.with), []metav1.Condition{{Type: "Ready", Status: "False", Reason: "NotReady", Message: "because"}, test.with})
		if len(events) != 1 || events[0].Reason != "ConditionChanged" || events[0].Type != test.want {
			t.Errorf("%s: %+v, want a %s", name, events, test.want)
		}
	}
}

// TestTransitionsOncePerChange: what did not change its status or reason is never told, and a change is told at most once.
func TestTransitionsOncePerChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []metav1.Condition {
			var out []metav1.Condition
			for _, row := range conditions.Catalogue() {
				if rapid.Bool().Draw(t, name+row.Name) {
					r := rapid.SampledFrom(row.Reasons).Draw(t, name+row.Name+"reason")
					out = append(out, metav1.Condition{Type: row.Name, Status: r.Status, Reason: r.Name, Message: rapid.String().Draw(t, "message")})
				}
			}
			return out
		}
		before, after := draw("before"), draw("after")
		if events := conditions.Transitions(after, after); len(events) > 0 {
			t.Fatalf("nothing changed, and %d events tell of it", len(events))
		}
		if events := conditions.Transitions(before, after); len(events) > len(after) {
			t.Fatalf("%d events tell of %d conditions", len(events), len(after))
		}
	})
}

func TestNewEvent(t *testing.T) {
	long := conditions.NewEvent("OutputsInvalid", strings.Repeat("ä", 1000))
	if len(long.Note) > 1024 || !utf8.ValidString(long.Note) {
		t.Errorf("the note has %d bytes", len(long.Note))
	}
	if long.Type != "Warning" || long.Action == "" {
		t.Errorf("the event is %+v", long)
	}
	if got := conditions.NewEvent("NotInTheCatalogue", "x"); got.Type != "Normal" || got.Action == "" {
		t.Errorf("the event is %+v", got)
	}
}
