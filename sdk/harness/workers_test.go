package harness_test

import (
	"context"
	"slices"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
)

// New workers come one at a time, each before an old one goes, and the pool gets their version.
func TestWorkersAreRolled(t *testing.T) {
	cfg := config(t, harnesstest.New(contract.Roles()...), "K10", 1)
	roll := harness.Step{ID: "roll", Ask: &harness.Ask{Upgrade: true}}
	cfg.Scenario.Steps = []harness.Step{harness.StepCreate, roll, {ID: "workers", Ask: &harness.Ask{WorkerTemplate: true}}, harness.StepDelete}
	const wanted = 2
	most, least, versions, pool := 0, wanted, map[string]bool{}, ""
	cfg.Watch = func(w *harness.World) {
		ready := 0
		for _, m := range w.Workers() {
			versions[m.Version] = true
			if m.Node != nil && !m.Deleting {
				ready++
			}
		}
		most = max(most, len(w.Workers()))
		if len(versions) > 1 && !w.Spec.Deleted {
			least = min(least, ready)
		}
		if w.Pool != nil {
			pool = w.Pool.Version
		}
	}
	result, err := harness.Play(context.Background(), cfg)
	if err != nil || result.Verdict != harness.VerdictPassed {
		t.Fatalf("playing: %v\n%s", err, story(result))
	}
	if most != wanted+1 || least != wanted {
		t.Errorf("there were up to %d workers, and at least %d with Nodes", most, least)
	}
	if !versions[cfg.ControlPlane.NextVersion] || pool != cfg.ControlPlane.NextVersion {
		t.Errorf("the versions of workers were %v, that of the pool is %s", versions, pool)
	}
}

// Workers' Machines are there before the control plane is initialised, and wait for their bootstrap data.
func TestWorkersWaitForBootstrapData(t *testing.T) {
	result, err := harness.Play(context.Background(), config(t, harnesstest.New(contract.Roles()...), "K10", 1))
	if err != nil {
		t.Fatalf("playing: %v", err)
	}
	at := func(actor string, typ harness.EventType) int {
		return slices.IndexFunc(result.Steps, func(s harness.StoryStep) bool { return s.Actor == actor && s.Type == typ })
	}
	made, initialized := at("machineset", harness.EventCreated), at("cluster-api", harness.EventInitialized)
	worker := result.Steps[made].Object
	data := slices.IndexFunc(result.Steps, func(s harness.StoryStep) bool { return s.Object == worker && s.Type == harness.EventBootstrapData })
	if made < at("kcp", harness.EventCreated) || made > initialized || data < initialized {
		t.Errorf("a worker's Machine is step %d and its data %d; the control plane is initialised with step %d", made, data, initialized)
	}
}
