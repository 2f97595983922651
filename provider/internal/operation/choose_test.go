package operation

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// now is the time of every case.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// caseFile is a case in testdata/choose. Times are given as what has passed since, such as 5m; a run that is left out of the
// facts did not happen.
type caseFile struct {
	Why   string   `json:"why"`
	Facts factsDTO `json:"facts"`
	Want  wantDTO  `json:"want"`
}

type factsDTO struct {
	Role        contract.Role `json:"role"`
	UID         types.UID     `json:"uid"`
	Created     ago           `json:"created"`
	Deleting    bool          `json:"deleting"`
	JobActive   bool          `json:"jobActive"`
	EverApplied bool          `json:"everApplied"`
	Provisioned bool          `json:"provisioned"`
	State       struct {
		Kind   StateKind `json:"kind"`
		Hash   string    `json:"hash"`
		Image  string    `json:"image"`
		Reason string    `json:"reason"`
	} `json:"state"`
	Unconfirmed string `json:"unconfirmed"`
	Inputs      *struct {
		Hash  string `json:"hash"`
		Image string `json:"image"`
	} `json:"inputs"`
	Runs             []runDTO        `json:"runs"`
	LastRefresh      ago             `json:"lastRefresh"`
	LastDriftCheck   ago             `json:"lastDriftCheck"`
	Pending          bool            `json:"pending"`
	PendingRefreshes int             `json:"pendingRefreshes"`
	Converging       bool            `json:"converging"`
	Drift            metav1.Duration `json:"drift"`
	HealthCheck      metav1.Duration `json:"healthCheck"`
	Membership       metav1.Duration `json:"membership"`
	FailedLimit      *int32          `json:"failedLimit"`
}

type runDTO struct {
	Op          infrav1.Operation `json:"op"`
	Finished    ago               `json:"finished"`
	Outcome     Outcome           `json:"outcome"`
	Attempt     int               `json:"attempt"`
	Hash        string            `json:"hash"`
	Image       string            `json:"image"`
	Remediation bool              `json:"remediation"`
}

type wantDTO struct {
	StateReason     string            `json:"stateReason"`
	Operation       infrav1.Operation `json:"operation"`
	Reason          Reason            `json:"reason"`
	RequeueAfter    metav1.Duration   `json:"requeueAfter"`
	Attempt         int               `json:"attempt"`
	InputsHash      string            `json:"inputsHash"`
	Tick            string            `json:"tick"`
	RemoveFinalizer bool              `json:"removeFinalizer"`
	Hold            string            `json:"hold"`
	Gated           bool              `json:"gated"`
}

// ago is a time before now; the zero time if it is not given.
type ago struct{ time.Time }

func (a *ago) UnmarshalJSON(b []byte) error {
	var d metav1.Duration
	if err := d.UnmarshalJSON(b); err != nil {
		return err
	}
	a.Time = now.Add(-d.Duration)
	return nil
}

func (d factsDTO) facts() Facts {
	f := Facts{
		Role: d.Role, Now: now, UID: d.UID, Created: d.Created.Time, Deleting: d.Deleting, JobActive: d.JobActive,
		EverApplied: d.EverApplied, Provisioned: d.Provisioned,
		State:       State{Kind: d.State.Kind, Hash: d.State.Hash, Image: d.State.Image, Reason: d.State.Reason},
		Unconfirmed: d.Unconfirmed, LastRefresh: d.LastRefresh.Time, LastDriftCheck: d.LastDriftCheck.Time,
		Pending: d.Pending, PendingRefreshes: d.PendingRefreshes, Converging: d.Converging,
		Intervals:   Intervals{Drift: d.Drift.Duration, HealthCheck: d.HealthCheck.Duration, Membership: d.Membership.Duration},
		FailedLimit: 3,
	}
	if d.FailedLimit != nil {
		f.FailedLimit = *d.FailedLimit
	}
	if d.Inputs != nil {
		f.Inputs = &Inputs{Hash: d.Inputs.Hash, Image: d.Inputs.Image}
	}
	for _, r := range d.Runs {
		f.Runs = append(f.Runs, Run{
			Operation: r.Op, Attempt: r.Attempt, Finished: r.Finished.Time, Outcome: r.Outcome,
			Hash: r.Hash, Image: r.Image, Remediation: r.Remediation,
		})
	}
	return f
}

// TestChoose plays the cases in testdata/choose. A case is named after the rule that it is about.
func TestChoose(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "choose", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`^B-\d{3}`)
	covered := map[string]bool{}
	reasons := map[Reason]bool{"": true}
	for _, file := range files {
		name := filepath.Base(file)
		covered[id.FindString(name)] = true
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c caseFile
			if err := yaml.UnmarshalStrict(b, &c); err != nil {
				t.Fatal(err)
			}
			f := c.Facts.facts()
			got := Choose(f)
			want := Decision{
				Operation: c.Want.Operation, Reason: c.Want.Reason, RequeueAfter: c.Want.RequeueAfter.Duration,
				Attempt: c.Want.Attempt, InputsHash: c.Want.InputsHash, Tick: c.Want.Tick,
				RemoveFinalizer: c.Want.RemoveFinalizer, Hold: c.Want.Hold, Gated: c.Want.Gated,
			}
			if want.Operation != "" && want.Attempt == 0 {
				want.Attempt = 1
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.Why, diff)
			}
			if c.Want.StateReason != "" && StateReason(f) != c.Want.StateReason {
				t.Errorf("StateReadable is %s, want %s", StateReason(f), c.Want.StateReason)
			}
			reasons[got.Reason] = true
		})
	}

	// Every rule has a case, and every reason of the sheet that can be decided is.
	for _, r := range rules {
		if !covered[r.id] {
			t.Errorf("no case in testdata/choose is about rule %s (%s)", r.id, r.reason)
		}
	}
	for _, c := range checks {
		if !covered[c.id] {
			t.Errorf("no case in testdata/choose is about check %s (%s)", c.id, c.reason)
		}
	}
	for _, r := range Reasons() {
		if !reasons[r] {
			t.Errorf("no case in testdata/choose has reason %s", r)
		}
	}
	for r := range reasons {
		if r != "" && !slices.Contains(Reasons(), r) {
			t.Errorf("reason %s is not listed by Reasons", r)
		}
	}
}
