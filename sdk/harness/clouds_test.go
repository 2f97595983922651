package harness_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
	"github.com/captf-toolkit/captf/sdk/harness/rke2"
)

// cloudCase is a folder of testdata/clouds: what the modules of one cloud's set
// make, as plain files, and what the harness must say about it. A folder has
// either set.json, or the name of another folder in base and what differs from
// it in patch.json: by address, a JSON merge patch of the resource.
type cloudCase struct {
	Base string `json:"base"`
	// ControlPlane is kcp unless it is rke2.
	ControlPlane string `json:"controlPlane"`
	// Scenario is life unless it is another.
	Scenario string `json:"scenario"`
	// Failed are the requirements that fail, and no others; Passed and Manual are
	// some that do, and are left to a person.
	Failed []string `json:"failed"`
	Passed []string `json:"passed"`
	Manual []string `json:"manual"`
	// Gate is where the run stalls, "" when it does not.
	Gate string `json:"gate"`
	// Pattern is the pattern that was recognised, A unless it is another.
	Pattern harness.Pattern `json:"pattern"`
	// Says are texts that the failures hold.
	Says []string `json:"says"`
}

// recordedSet is what set.json holds: what each module makes. Texts may hold
// ${port}, ${name}, ${machine}, ${domain}, ${version} and ${replicas}.
type recordedSet struct {
	Exports  map[string]any                        `json:"exports"`
	Modules  map[contract.Role][]recorded          `json:"modules"`
	Patterns map[contract.Role]*harness.Membership `json:"membership"`
}

// recorded is one resource of a recorded set.
type recorded struct {
	Address string         `json:"address"`
	Values  map[string]any `json:"values"`
	// DependsOn are addresses, as a state has them.
	DependsOn []string `json:"dependsOn"`
	// When is what the resource is made for: endpoint (the module makes one),
	// control-plane, worker, never, or always when it is empty.
	When string `json:"when"`
	// Replaced tells that a change replaces it.
	Replaced bool `json:"replaced"`
}

// TestClouds plays each folder of testdata/clouds.
func TestClouds(t *testing.T) {
	folders, err := filepath.Glob("testdata/clouds/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("reading the clouds: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			want, set := readCloud(t, folder)
			if want.Pattern == "" {
				want.Pattern = harness.PatternAttachment
			}
			plane := kcp.New()
			if want.ControlPlane == "rke2" {
				plane = rke2.New()
			}
			n := slices.IndexFunc(plane.Scenarios, func(s harness.Scenario) bool { return s.ID == want.Scenario })
			if want.Scenario == "" {
				n = 0
			}
			cfg := harness.Config{Modules: set.modules(), Definition: versions.Default(), ControlPlane: plane, Scenario: plane.Scenarios[n], Seed: 1}
			result, err := harness.Play(context.Background(), cfg)
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			checkCloud(t, want, result)
		})
	}
}

func checkCloud(t *testing.T, want cloudCase, result *harness.Result) {
	t.Helper()
	status, said := map[string]harness.Status{}, ""
	var failed []string
	for _, q := range result.Requirements {
		status[q.ID] = q.Status
		if q.Status == harness.StatusFailed {
			failed = append(failed, q.ID)
			said += "\n" + q.ID + ": " + q.Reason + "\n" + strings.Join(q.Evidence, "\n") + "\n" + q.Remedy
			if q.Remedy == "" {
				t.Errorf("%s fails and nothing says what to do", q.ID)
			}
		}
	}
	gate := ""
	if result.Stalled != nil {
		gate = result.Stalled.Gate
	}
	if !slices.Equal(failed, want.Failed) || gate != want.Gate {
		t.Errorf("%v fail and the gate is %q, want %v and %q%s\n%s", failed, gate, want.Failed, want.Gate, said, story(result))
	}
	for _, id := range want.Passed {
		if status[id] != harness.StatusPassed {
			t.Errorf("%s is %s, want passed", id, status[id])
		}
	}
	for _, id := range want.Manual {
		if status[id] != harness.StatusManual {
			t.Errorf("%s is %s, want manual", id, status[id])
		}
	}
	for _, text := range want.Says {
		if !strings.Contains(said, text) {
			t.Errorf("%q is not in %s", text, said)
		}
	}
	if result.LoadBalancer.Pattern != want.Pattern {
		t.Errorf("the pattern is %q (%s), want %q", result.LoadBalancer.Pattern, result.LoadBalancer.Description, want.Pattern)
	}
}

// readCloud reads a case and the set that it plays.
func readCloud(t *testing.T, folder string) (cloudCase, *recordedSet) {
	t.Helper()
	read := func(path string, into any) {
		raw, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatalf("reading %s: %v", path, err)
		}
	}
	var want cloudCase
	read(filepath.Join(folder, "want.json"), &want)
	set := &recordedSet{}
	if want.Base == "" {
		read(filepath.Join(folder, "set.json"), set)
		return want, set
	}
	read(filepath.Join("testdata/clouds", want.Base, "set.json"), set)
	var patch struct {
		Exports map[string]any                              `json:"exports"`
		Modules map[contract.Role]map[string]map[string]any `json:"modules"`
	}
	read(filepath.Join(folder, "patch.json"), &patch)
	merge(set.Exports, patch.Exports)
	for role, changes := range patch.Modules {
		for _, address := range slices.Sorted(maps.Keys(changes)) {
			set.Modules[role] = patched(t, set.Modules[role], address, changes[address])
		}
	}
	return want, set
}

// patched changes, adds or removes one resource.
func patched(t *testing.T, all []recorded, address string, change map[string]any) []recorded {
	t.Helper()
	n := slices.IndexFunc(all, func(r recorded) bool { return r.Address == address })
	if change == nil {
		if n < 0 {
			t.Fatalf("there is no %s to remove", address)
		}
		return slices.Delete(all, n, n+1)
	}
	entry := map[string]any{"address": address}
	if n >= 0 {
		raw, _ := json.Marshal(all[n])
		_ = json.Unmarshal(raw, &entry)
	}
	merge(entry, change)
	raw, _ := json.Marshal(entry)
	var out recorded
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("patching %s: %v", address, err)
	}
	if n < 0 {
		return append(all, out)
	}
	all[n] = out
	return all
}

// merge applies a JSON merge patch (RFC 7386).
func merge(to, patch map[string]any) {
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(to, k)
		case map[string]any:
			if inner, ok := to[k].(map[string]any); ok {
				merge(inner, v)
				continue
			}
			to[k] = v
		default:
			to[k] = v
		}
	}
}

// modules makes a set that makes what is recorded.
func (r *recordedSet) modules() *harnesstest.Set {
	set := harnesstest.New(contract.Roles()...)
	info := set.Infos[contract.RoleMachine]
	info.Membership, info.ExportReads = r.Patterns[contract.RoleMachine], nil
	for _, res := range r.Modules[contract.RoleMachine] {
		if balancer.Attaches(balancer.TypeIn(res.Address)) {
			if info.Membership == nil {
				info.Membership = &harness.Membership{Pattern: harness.PatternAttachment}
			}
			m := harness.Member{Address: balancer.Baseless(res.Address)}
			if !slices.ContainsFunc(info.Membership.Members, func(o harness.Member) bool { return o.Address == m.Address }) {
				info.Membership.Members = append(info.Membership.Members, m)
			}
		}
	}
	set.Infos[contract.RoleMachine] = info
	set.Resources = r.render
	var mu sync.Mutex
	states := map[string][]harness.Resource{}
	set.Changes = func(op harness.Op, object string, in contract.Inputs, changes []harness.Change) []harness.Change {
		mu.Lock()
		defer mu.Unlock()
		old, is := states[object]
		now := r.render(object, in)
		switch {
		case op == harness.OpApply:
			states[object] = now
		case op == harness.OpDestroy:
			delete(states, object)
			return changes
		}
		if !is {
			return changes
		}
		return r.diff(in.Role(), old, now)
	}
	set.Outputs = func(_ string, in contract.Inputs, outputs map[string]any) {
		if c, ok := in.(*contract.ClusterInputs); ok {
			outputs["exports"] = substitute(r.Exports, c)
			if c.ControlPlaneEndpoint == nil {
				outputs["control_plane_endpoint"] = &contract.Endpoint{Host: "10.0.0.10", Port: int64(portOf(in))}
			}
		}
	}
	return set
}

// diff is what a plan would change.
func (r *recordedSet) diff(role contract.Role, old, now []harness.Resource) []harness.Change {
	var out []harness.Change
	for _, n := range now {
		at := slices.IndexFunc(old, func(o harness.Resource) bool { return o.Address == n.Address })
		action := harness.ActionUpdate
		switch {
		case at < 0:
			action = harness.ActionCreate
		case reflect.DeepEqual(old[at].Values, n.Values):
			continue
		case slices.ContainsFunc(r.Modules[role], func(e recorded) bool { return e.Address == n.Address && e.Replaced }):
			action = harness.ActionReplace
		}
		out = append(out, harness.Change{Address: n.Address, Type: n.Type, Action: action})
	}
	return out
}

// render makes what a module makes of its inputs.
func (r *recordedSet) render(_ string, in contract.Inputs) []harness.Resource {
	var out []harness.Resource
	for _, e := range r.Modules[in.Role()] {
		made := true
		switch in := in.(type) {
		case *contract.ClusterInputs:
			made = e.When != "endpoint" || in.ControlPlaneEndpoint == nil
		case *contract.MachineInputs:
			made = e.When == "" || e.When == map[bool]string{true: "control-plane", false: "worker"}[in.ControlPlane]
		}
		if made {
			values, _ := substitute(e.Values, in).(map[string]any)
			out = append(out, harness.Resource{Address: e.Address, Type: balancer.TypeIn(e.Address), Values: values, DependsOn: e.DependsOn})
		}
	}
	return out
}

func portOf(in contract.Inputs) int {
	if c, ok := in.(*contract.ClusterInputs); ok && c.ClusterNetwork != nil && c.ClusterNetwork.APIServerPort != nil {
		return int(*c.ClusterNetwork.APIServerPort)
	}
	return 6443
}

var placeholder = regexp.MustCompile(`\$\{([a-z]+)\}`)

// substitute fills placeholders in; a text that is nothing but ${port} becomes a number.
func substitute(v any, in contract.Inputs) any {
	facts := map[string]string{"port": strconv.Itoa(portOf(in)), "name": in.Common().Object.Name}
	switch in := in.(type) {
	case *contract.ClusterInputs:
	case *contract.MachineInputs:
		facts["machine"], facts["domain"] = in.MachineName, *orNone(in.FailureDomain)
		var exports struct {
			Port json.Number `json:"port"`
		}
		_ = json.Unmarshal(in.ClusterOutputs, &exports)
		facts["port"] = exports.Port.String()
	case *contract.PoolInputs:
		facts["version"], facts["replicas"] = *orNone(in.KubernetesVersion), strconv.FormatInt(in.Replicas, 10)
	}
	switch v := v.(type) {
	case string:
		if v == "${port}" {
			return json.Number(facts["port"])
		}
		return placeholder.ReplaceAllStringFunc(v, func(p string) string { return facts[p[2:len(p)-1]] })
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = substitute(e, in)
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, substitute(e, in))
		}
		return out
	}
	return v
}

func orNone(s *string) *string {
	if s == nil {
		return new(string)
	}
	return s
}

// Who allows CP-020 says that nodes reach themselves by other means: the story goes on.
func TestHairpinAllowed(t *testing.T) {
	_, set := readCloud(t, "testdata/clouds/CP-020-client-address-kept")
	cfg := config(t, set.modules(), "K1", 1)
	cfg.Allow = []string{"CP-020"}
	result, err := harness.Play(context.Background(), cfg)
	if err != nil || result.Verdict != harness.VerdictPassed {
		t.Errorf("error %v\n%s", err, story(result))
	}
}

// Two members that are changed at once must not get into each other's way, and
// a newer member must not change an older one's plan.
func TestMembersAtOnce(t *testing.T) {
	tests := []struct {
		name   string
		with   func(*harnesstest.Set)
		failed []string
	}{
		{name: "well"},
		{name: "a conflict", with: func(s *harnesstest.Set) {
			var mu sync.Mutex
			tried := map[string]bool{}
			s.Fail = func(op harness.Op, object string, _ contract.Inputs) string {
				mu.Lock()
				defer mu.Unlock()
				if op != harness.OpApply || !strings.Contains(object, "probe-member-b") || tried[object] {
					return ""
				}
				tried[object] = true
				return "409 conflict: the pool is immutable while it is updated"
			}
		}, failed: []string{"CP-037"}},
		{name: "a conflict on destroy", with: func(s *harnesstest.Set) {
			var mu sync.Mutex
			tried := map[string]bool{}
			s.Fail = func(op harness.Op, object string, _ contract.Inputs) string {
				mu.Lock()
				defer mu.Unlock()
				if op != harness.OpDestroy || !strings.Contains(object, "probe-member-a") || tried[object] {
					return ""
				}
				tried[object] = true
				return "409 conflict: the pool is immutable while it is updated"
			}
		}, failed: []string{"CP-037"}},
		{name: "a newer member changes an older one", with: func(s *harnesstest.Set) {
			s.Changes = func(op harness.Op, object string, _ contract.Inputs, changes []harness.Change) []harness.Change {
				if op == harness.OpPlan && strings.Contains(object, "probe-member-a") {
					return []harness.Change{{Address: "terraform_data.backend_member[0]", Type: "terraform_data", Action: harness.ActionUpdate}}
				}
				return changes
			}
		}, failed: []string{"CP-057"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := harnesstest.New(contract.Roles()...)
			if tt.with != nil {
				tt.with(set)
			}
			result, err := harness.Play(context.Background(), config(t, set, "life", 1))
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			var failed []string
			for _, q := range result.Requirements {
				if q.Status == harness.StatusFailed {
					failed = append(failed, q.ID)
				}
			}
			if !slices.Equal(failed, tt.failed) || len(set.Objects()) > 0 {
				t.Errorf("%v fail, want %v; left are %v\n%s", failed, tt.failed, set.Objects(), story(result))
			}
		})
	}
}
