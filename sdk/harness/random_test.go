package harness_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
	"github.com/captf-toolkit/captf/sdk/harness/scenario"
)

// model is what is known of a life at any time: what exists in the cloud, what
// the states record, and what the cluster is. It keeps the first invariant that
// breaks.
type model struct {
	set *harnesstest.Set
	// orphans and gone are the objects of which faults may leave, or have taken,
	// something that the states do not know.
	orphans, gone map[string]bool
	endpoint      string
	looks         int
	broken        string
}

func (m *model) breaks(format string, args ...any) {
	if m.broken == "" {
		m.broken = fmt.Sprintf(format, args...)
	}
}

// watch checks the world whenever nothing changes any more.
func (m *model) watch(w *harness.World) {
	if e := w.Cluster.Endpoint; e != nil {
		now := fmt.Sprintf("%s:%d", e.Host, e.Port)
		if m.endpoint != "" && m.endpoint != now {
			m.breaks("%s: the endpoint changed from %s to %s", w.Now, m.endpoint, now)
		}
		m.endpoint = now
	}
	members, alive := 0, 0
	for _, c := range w.ControlPlaneMachines() {
		if c.Node == nil || c.HookRemoved {
			continue
		}
		members++
		if c.Serves() {
			alive++
		}
	}
	if w.ControlPlane.Initialized && !w.Spec.Deleted && members > 0 && alive < members/2+1 {
		m.breaks("%s: %d of %d members of etcd are alive", w.Now, alive, members)
	}
	if m.looks++; m.looks%8 == 0 {
		m.compare(w.Now.String())
	}
}

// compare compares the cloud with the states.
func (m *model) compare(when string) {
	things, recorded := m.set.Snapshot()
	places := map[string]bool{}
	for _, o := range things {
		if m.orphans[o.Owner] {
			continue
		}
		place := o.Owner + " " + o.Address
		if places[place] {
			m.breaks("%s: %s exists twice", when, place)
		}
		places[place] = true
		if recorded[o.ID] == "" {
			m.breaks("%s: %s (%s) is in no state", when, place, o.ID)
		}
		delete(recorded, o.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(recorded)) {
		if owner := recorded[id]; !m.gone[owner] && !m.orphans[owner] {
			m.breaks("%s: %s is in the state of %s and does not exist", when, id, owner)
		}
	}
}

// randomOptions are those of the scenarios that are played here.
func randomOptions(seed uint64) scenario.RandomOptions {
	o := scenario.RandomOptions{ControlPlane: kcp.Name, Odd: true, Pool: seed%3 == 0}
	for _, info := range harness.Faults() {
		o.Kinds = append(o.Kinds, info.Kind)
	}
	return o
}

// live plays a scenario on simulated modules and returns what broke, "" when
// nothing did.
func live(f scenario.File, seed uint64) string {
	cp := kcp.New()
	s, err := scenario.Build(f, scenario.OptionsFor(cp))
	if err != nil {
		return err.Error()
	}
	roles := contract.Roles()
	if f.Requires == nil {
		roles = roles[:2]
	}
	m := &model{set: harnesstest.New(roles...), orphans: map[string]bool{}, gone: map[string]bool{}}
	m.set.Injected = func(f harness.Fault) {
		info, _ := harness.FaultOf(f.Kind)
		m.orphans[f.Object] = m.orphans[f.Object] || info.Orphans
		m.gone[f.Object] = m.gone[f.Object] || f.Kind == harness.FaultInstanceGone
	}
	result, err := harness.Play(context.Background(), harness.Config{
		Modules: m.set, Definition: versions.Default(), ControlPlane: cp, Scenario: s, Seed: seed, Watch: m.watch,
	})
	switch {
	case err != nil:
		return "playing: " + err.Error()
	case m.broken != "":
		return m.broken
	case result.Verdict != harness.VerdictPassed:
		var failed []string
		for _, q := range result.Requirements {
			if q.Status == harness.StatusFailed {
				failed = append(failed, q.ID+": "+q.Reason)
			}
		}
		return fmt.Sprintf("verdict %s: %s", result.Verdict, strings.Join(failed, "; "))
	case len(m.set.Objects()) > 0:
		return fmt.Sprintf("states are left: %v", m.set.Objects())
	}
	for _, o := range m.set.Inventory() {
		if !m.orphans[o.Owner] {
			return fmt.Sprintf("%s of %s is left in the cloud", o.Address, o.Owner)
		}
	}
	return ""
}

// Whatever is asked for and whatever goes wrong, in 1,000 random stories: nothing
// is made twice, nothing is lost, the endpoint stays, a quorum is alive, and all
// is gone after the deletion. One that fails is told as the shortest scenario file
// that still fails.
func TestRandomStories(t *testing.T) {
	stories := uint64(1000)
	if testing.Short() || raceDetector { // which watches a tenth: .ci/gotest plays all of them again without it
		stories = 100
		t.Logf("playing %d stories", stories)
	}
	const shards = 4
	for shard := range uint64(shards) {
		t.Run(strconv.FormatUint(shard, 10), func(t *testing.T) {
			t.Parallel()
			for seed := shard; seed < stories && !t.Failed(); seed += shards {
				f := scenario.Random(seed, randomOptions(seed))
				why := live(f, seed)
				if why == "" {
					continue
				}
				small := scenario.Shrink(f, func(f scenario.File) bool {
					_, err := scenario.Build(f, scenario.OptionsFor(kcp.New()))
					return err == nil
				}, func(f scenario.File) bool { return live(f, seed) != "" })
				text, err := scenario.Encode(small)
				if err != nil {
					t.Fatal(err)
				}
				t.Errorf("seed %d: %s\nthe shortest scenario that fails (%s), for --scenario-file with --seed %d:\n%s", seed, why, live(small, seed), seed, text)
			}
		})
	}
}

// A module that loses things is found, and the scenario that shows it is short.
func TestRandomStoriesFindWhatIsLost(t *testing.T) {
	fails := func(f scenario.File) bool {
		return slices.ContainsFunc(f.Steps, func(s scenario.Step) bool { return s.Ask != nil && s.Ask.Template }) && live(f, 1) == ""
	}
	found := false
	for seed := uint64(0); seed < 50 && !found; seed++ {
		f := scenario.Random(seed, randomOptions(seed))
		if !fails(f) {
			continue
		}
		found = true
		small := scenario.Shrink(f, func(f scenario.File) bool {
			_, err := scenario.Build(f, scenario.OptionsFor(kcp.New()))
			return err == nil
		}, fails)
		if len(small.Steps) > 3 {
			text, _ := scenario.Encode(small)
			t.Errorf("the shortest story has %d steps:\n%s", len(small.Steps), text)
		}
	}
	if !found {
		t.Error("no random story rolls the control plane to another template")
	}
}
