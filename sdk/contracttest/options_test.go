package contracttest

import (
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

const set = "../../modules/noop"

// TestOptions: what the options mean, and which mean nothing.
func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"nothing":            {Options{}, "either Dir or Modules is needed"},
		"both":               {Options{Dir: set, Modules: map[contract.Role]string{contract.RoleMachine: set}}, "either Dir or Modules is needed"},
		"a role":             {Options{Modules: map[contract.Role]string{"node": set}}, "node"},
		"a contract":         {Options{Dir: set, Contract: "v9"}, "v1alpha1"},
		"a variable":         {Options{Dir: set, Variables: map[string]string{"node.size": "1"}}, "node"},
		"schemas in vain":    {Options{Dir: set, Schemas: map[string]string{"a/b": "x.json"}}, "schemas are for Simulate"},
		"no such schema":     {Options{Dir: set, Simulate: true, Schemas: map[string]string{"a/b": "no-such.json"}}, "no-such.json"},
		"a control plane":    {Options{Dir: set, ControlPlanes: []string{"k3s"}}, "it is one of kcp, rke2"},
		"a scenario":         {Options{Dir: set, Scenarios: []string{"K99"}}, `has a scenario "K99"`},
		"of the other plane": {Options{Dir: set, Scenarios: []string{"R1"}}, `no control plane of kcp has a scenario "R1"`},
		"no scenario file":   {Options{Dir: set, ScenarioFiles: []string{"no-such.yaml"}}, "no-such.yaml"},
	} {
		if _, err := c.options.understand(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.want)
		}
	}
	o, err := Options{
		Dir: set, ControlPlanes: []string{"kcp", "rke2"}, Scenarios: []string{"k1", "R1"}, Simulate: true, Variables: map[string]string{"machine.size": "1"},
	}.understand()
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Modules) != 3 || o.Seed != 1 || !o.chosen || o.simulation == nil || len(o.variables) != 1 || len(o.scenarios["kcp"]) != 1 || len(o.scenarios["rke2"]) != 2 {
		t.Errorf("%+v", o)
	}
	if all, err := (Options{Dir: set}).understand(); err != nil || all.chosen || len(all.scenarios["kcp"]) < 20 {
		t.Errorf("%v, %+v", err, all)
	}
}

// TestLeftOut: a scenario that was not played stands in the result of its control plane.
func TestLeftOut(t *testing.T) {
	kcp, rke2 := planes()["kcp"], planes()["rke2"]
	s := &suite{results: []*harness.Result{{ControlPlane: "kcp"}}}
	s.leftOut(rke2, rke2.Scenarios[0], "it needs a cloud")
	s.leftOut(kcp, kcp.Scenarios[0], "it needs a cloud")
	if got := s.results[0].NotPlayed; len(got) != 1 || got[0].Scenario != kcp.Scenarios[0].ID || got[0].Reason != "it needs a cloud" {
		t.Errorf("%+v", got)
	}
}
