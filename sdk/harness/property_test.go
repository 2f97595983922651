package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
	"github.com/captf-toolkit/captf/sdk/harness/rke2"
)

// overlap watches which writes run at the same time (control-planes.md 9.3).
type overlap struct {
	mu      sync.Mutex
	running map[string]bool
	broken  []string
	applied map[string]int
}

func (o *overlap) watch(s *harnesstest.Set) {
	o.running, o.applied = map[string]bool{}, map[string]int{}
	s.Before = func(op harness.Op, object string) {
		if strings.Contains(object, "probe") {
			return
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.running[object] {
			o.broken = append(o.broken, "two runs of "+object)
		}
		if op == harness.OpApply {
			o.applied[object]++
		}
		if op != harness.OpApply && op != harness.OpDestroy {
			return
		}
		cluster := strings.HasPrefix(object, "cluster-")
		for other := range o.running {
			if cluster || strings.HasPrefix(other, "cluster-") {
				o.broken = append(o.broken, object+" overlaps "+other)
			}
		}
		o.running[object] = true
	}
	s.After = func(_ harness.Op, object string) {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.running, object)
	}
}

// Whatever the seed and the scenario: the story is the same twice, writes of a
// cluster overlap nothing, a machine is applied once, the cluster twice, and
// nothing is left behind.
func TestInvariants(t *testing.T) {
	if raceDetector { // which watches a tenth, as in TestRandomStories
		checks := flag.Lookup("rapid.checks").Value
		before := checks.String()
		if err := checks.Set("10"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = checks.Set(before) })
	}
	for _, plane := range []*harness.ControlPlane{kcp.New(), rke2.New()} {
		t.Run(plane.Name, func(t *testing.T) { invariants(t, plane) })
	}
}

func invariants(t *testing.T, plane *harness.ControlPlane) {
	t.Helper()
	var scenarios []harness.Scenario
	for _, s := range plane.Scenarios {
		quiet := s.Stalls == nil
		for _, step := range s.Steps {
			quiet = quiet && step.Fault == nil
		}
		if quiet {
			scenarios = append(scenarios, s)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		scenario := scenarios[rapid.IntRange(0, len(scenarios)-1).Draw(r, "scenario")]
		seed := rapid.Uint64().Draw(r, "seed")
		roles := contract.Roles()
		if !rapid.Bool().Draw(r, "pool") && !scenario.Pool {
			roles = roles[:2]
		}
		var stories [][]byte
		for range 2 {
			set := harnesstest.New(roles...)
			var o overlap
			o.watch(set)
			result, err := harness.Play(context.Background(), harness.Config{
				Modules: set, Definition: versions.Default(), ControlPlane: plane, Scenario: scenario, Seed: seed,
			})
			if err != nil {
				r.Fatalf("playing: %v", err)
			}
			stories = append(stories, story(result))
			if result.Verdict != harness.VerdictPassed || len(o.broken) > 0 || len(set.Objects()) > 0 {
				r.Fatalf("verdict %s, broken %v, left %v\n%s", result.Verdict, o.broken, set.Objects(), story(result))
			}
			for object, n := range o.applied {
				want := 1
				if strings.HasPrefix(object, "cluster-") {
					want = clusterApplies(scenario)
				}
				if n != want && !strings.HasPrefix(object, "machinepool-") {
					r.Fatalf("%s was applied %d times, want %d", object, n, want)
				}
			}
		}
		if !bytes.Equal(stories[0], stories[1]) {
			r.Fatalf("the same seed gives another story")
		}
	})
}

// clusterApplies is how often a scenario applies the cluster: once, once more when
// the control plane is initialised, and once for each change that reaches it.
func clusterApplies(s harness.Scenario) int {
	n := 2
	for _, step := range s.Steps {
		if step.Ask != nil && (step.Ask.Topology || step.Ask.Endpoint != nil) {
			n++
		}
	}
	return n
}

// An interrupted run leaves nothing behind, or says what it left.
func TestInterrupt(t *testing.T) {
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprintf("keep=%t", keep), func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			set := harnesstest.New(contract.Roles()...)
			applied := 0
			set.Before = func(op harness.Op, _ string) {
				if op == harness.OpApply {
					if applied++; applied == 3 {
						cancel()
					}
				}
			}
			cfg := config(t, set, "K2", 1)
			cfg.KeepOnInterrupt = keep
			result, err := harness.Play(ctx, cfg)
			if err == nil || result.Verdict != harness.VerdictError {
				t.Fatalf("verdict is %s, error %v", result.Verdict, err)
			}
			if got := len(set.Objects()) > 0; got != keep {
				t.Errorf("objects that are left: %v", set.Objects())
			}
			if keep && len(result.Left) < len(set.Objects()) {
				t.Errorf("left are %v, reported are %v", set.Objects(), result.Left)
			}
		})
	}
}

// A failure that the user allows is a note.
func TestAllow(t *testing.T) {
	set := harnesstest.New(contract.Roles()...)
	output(contract.RoleMachine, "addresses", []any{})(set)
	cfg := config(t, set, "K1", 1)
	cfg.Allow = []string{"CP-042"}
	result, err := harness.Play(context.Background(), cfg)
	if err != nil {
		t.Fatalf("playing: %v", err)
	}
	if result.Verdict != harness.VerdictPassed {
		t.Errorf("verdict is %s", result.Verdict)
	}
	for _, q := range result.Requirements {
		if q.ID == "CP-042" && (q.Status != harness.StatusNotApplicable || !strings.Contains(q.Reason, "allowed")) {
			t.Errorf("CP-042 is %+v", q)
		}
	}
}

// BenchmarkBarSimulatedLife is the harness alone: a 3-replica life with modules
// that take no time (design D11: at most 100 ms, 1,000 seeds in 60 s).
func BenchmarkBarSimulatedLife(b *testing.B) {
	seed := uint64(0)
	for b.Loop() {
		seed++
		result, err := harness.Play(context.Background(), config(b, harnesstest.New(contract.Roles()...), "life", seed))
		if err != nil || result.Verdict != harness.VerdictPassed {
			b.Fatalf("verdict %s, error %v", result.Verdict, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/life")
}

// Allowing a requirement does not turn a run that stalled, or that a module
// ended, into a pass.
func TestAllowDoesNotPassWhatDidNotEnd(t *testing.T) {
	for id, with := range map[string]func(*harnesstest.Set){
		"CP-001":       output(contract.RoleCluster, "control_plane_endpoint", nil),
		"module/apply": failing(func(op harness.Op, _ string, _ *contract.ClusterInputs) bool { return op == harness.OpApply }),
		"CP-025":       failing(func(op harness.Op, _ string, _ *contract.ClusterInputs) bool { return op == harness.OpDestroy }),
	} {
		t.Run(id, func(t *testing.T) {
			set := harnesstest.New(contract.Roles()...)
			with(set)
			cfg := config(t, set, "K1", 1)
			cfg.Allow = []string{id}
			result, err := harness.Play(context.Background(), cfg)
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			if result.Verdict != harness.VerdictFailed {
				t.Errorf("verdict is %s", result.Verdict)
			}
		})
	}
}

// The value of an output that the module marks sensitive is shown nowhere,
// whether it is right, wrong, or keeps a run from going on.
func TestSensitiveOutputsAreNotShown(t *testing.T) {
	long := strings.Repeat("long-hush-", 30)
	for name, value := range map[string]any{
		"health":         map[string]any{"state": "hush-value", "healthy": true, "message": "hush-value"},
		"health/message": map[string]any{"state": "degraded", "healthy": false, "message": "hush", "reasons": []string{"hush-value"}},
		"provider_id":    "custom:///hush-value",
		"addresses":      []map[string]any{{"type": "hush-value", "address": "hush-value\n"}},
		"failure_domain": long,
		"interruptible":  "hush-value",
	} {
		t.Run(name, func(t *testing.T) {
			name, _, _ := strings.Cut(name, "/")
			set := harnesstest.New(contract.Roles()...)
			set.Infos[contract.RoleMachine].Sensitive[name] = true
			output(contract.RoleMachine, name, value)(set)
			cfg := config(t, set, "life", 1)
			var live strings.Builder
			cfg.Story = func(s harness.StoryStep) { fmt.Fprintln(&live, s.Object, s.Event) }
			result, err := harness.Play(context.Background(), cfg)
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			raw, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			if shown := live.String() + string(raw); strings.Contains(shown, "hush") {
				n := strings.Index(shown, "hush")
				t.Errorf("the value is shown: …%s…", shown[max(0, n-120):min(len(shown), n+60)])
			}
		})
	}
}

// A number is no text to look for, so messages about it are rewritten whole.
func TestSensitiveNumbersAreNotShown(t *testing.T) {
	set := harnesstest.New(contract.Roles()...)
	set.Infos[contract.RoleCluster].Sensitive["control_plane_endpoint"] = true
	output(contract.RoleCluster, "control_plane_endpoint", map[string]any{"host": "hush-value", "port": 987654})(set)
	result, err := harness.Play(context.Background(), config(t, set, "K1", 1))
	if err != nil {
		t.Fatalf("playing: %v", err)
	}
	raw, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	if shown := string(raw); result.Stalled == nil || strings.Contains(shown, "987654") || strings.Contains(shown, "hush") {
		t.Errorf("the value is shown, or the run did not stall: %+v", result.Stalled)
	}
}
