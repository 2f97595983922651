package contracttest

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
	"github.com/captf-toolkit/captf/sdk/harness/rke2"
	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/harness/scenario"
	"github.com/captf-toolkit/captf/sdk/simcloud"
	"github.com/captf-toolkit/captf/sdk/simcloud/persona"
	"github.com/captf-toolkit/captf/sdk/simcloud/schemas"
)

// Options say what is tested and how. Only Dir or Modules is needed.
type Options struct {
	// Dir holds a module in each of the directories cluster, machine and, if the
	// set has pools, machinepool.
	Dir string
	// Modules are the directories by role, instead of Dir. A set without a cluster
	// or machine module is only linted: no cluster can live on it.
	Modules map[contract.Role]string
	// Contract is the version of the contract; "" is the newest.
	Contract string
	// ControlPlanes are kcp, rke2 or both; nil is kcp.
	ControlPlanes []string
	// Scenarios are the ids of those to play, such as life or K4; nil plays every
	// scenario that the set can play, with go test -short only the first.
	Scenarios []string
	// ScenarioFiles are files with scenarios of your own.
	ScenarioFiles []string
	// Runtime is the path or name of the OpenTofu or Terraform binary; "" searches
	// $CAPTF_RUNTIME, tofu and terraform.
	Runtime string
	// Variables are user variables: NAME for every module that declares it, or
	// ROLE.NAME for one. Values are texts, or JSON for variables that are no strings.
	Variables map[string]string
	// Env is added to the runtime's environment.
	Env map[string]string
	// Simulate replaces the modules' providers by simulated ones: nothing is
	// installed, called or created in a cloud. Schemas are files with recorded
	// schemas by source, for providers that have none built in; see captf simcloud record.
	Simulate bool
	Schemas  map[string]string
	// Seed decides everything random; 0 means 1.
	Seed uint64
	// Allow are ids of requirements whose failure is only noted, AllowWarnings ids
	// of lint checks whose warnings are; Strict lets other warnings fail.
	Allow, AllowWarnings []string
	Strict               bool
	// StepTimeout bounds one run of the runtime; 0 leaves its defaults.
	StepTimeout time.Duration
	// Report is a file for the result as a page; "" writes none.
	Report string
}

// planes are the control planes that can be played.
func planes() map[string]*harness.ControlPlane {
	out := map[string]*harness.ControlPlane{}
	for _, cp := range []*harness.ControlPlane{kcp.New(), rke2.New()} {
		out[cp.Name] = cp
	}
	return out
}

// order is what the options mean.
type order struct {
	Options
	definition contract.Definition
	planes     []*harness.ControlPlane
	scenarios  map[string][]harness.Scenario
	variables  []runner.Variable
	simulation *runner.Simulation
	// chosen tells that scenarios were asked for by name.
	chosen bool
}

func (o Options) understand() (*order, error) {
	if (o.Dir == "") == (len(o.Modules) == 0) {
		return nil, errors.New("either Dir or Modules is needed")
	}
	if o.Dir != "" {
		o.Modules = map[contract.Role]string{}
		for _, role := range contract.Roles() {
			if dir := filepath.Join(o.Dir, string(role)); isDir(dir) {
				o.Modules[role] = dir
			}
		}
		if len(o.Modules) == 0 {
			return nil, fmt.Errorf("opening module set %s: it has none of the directories %s", o.Dir, contract.RoleNames())
		}
	}
	for role := range o.Modules {
		if _, err := contract.ParseRole(string(role)); err != nil {
			return nil, err
		}
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	out := &order{Options: o, definition: versions.Default(), scenarios: map[string][]harness.Scenario{}, chosen: len(o.Scenarios)+len(o.ScenarioFiles) > 0}
	var err error
	if o.Contract != "" {
		if out.definition, err = versions.Get(o.Contract); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Variables)) {
		v, err := runner.ParseVariable(name + "=" + o.Variables[name])
		if err != nil {
			return nil, err
		}
		out.variables = append(out.variables, v)
	}
	if o.Simulate {
		catalog := simcloud.NewCatalog(schemas.Files)
		for _, source := range slices.Sorted(maps.Keys(o.Schemas)) {
			if err := catalog.AddFile(source, o.Schemas[source]); err != nil {
				return nil, err
			}
		}
		out.simulation = &runner.Simulation{Catalog: catalog, Personas: persona.All()}
	} else if len(o.Schemas) > 0 {
		return nil, errors.New("schemas are for Simulate")
	}
	return out, out.choose()
}

// choose finds control planes and scenarios.
func (o *order) choose() error {
	known := planes()
	names := o.ControlPlanes
	if len(names) == 0 {
		names = []string{kcp.New().Name}
	}
	used := map[string]bool{}
	for _, name := range names {
		cp, ok := known[name]
		if !ok {
			return fmt.Errorf("there is no control plane %q: it is one of %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		o.planes = append(o.planes, cp)
		if !o.chosen {
			o.scenarios[cp.Name] = cp.Scenarios
			continue
		}
		for _, id := range o.Scenarios {
			if at := slices.IndexFunc(cp.Scenarios, func(s harness.Scenario) bool { return strings.EqualFold(s.ID, id) }); at >= 0 {
				o.scenarios[cp.Name] = append(o.scenarios[cp.Name], cp.Scenarios[at])
				used[id] = true
			}
		}
		for _, file := range o.ScenarioFiles {
			s, err := scenario.Load(file, scenario.OptionsFor(cp))
			if err != nil {
				return fmt.Errorf("reading scenario: %w", err)
			}
			if len(s.ControlPlanes) == 0 || slices.Contains(s.ControlPlanes, cp.Name) {
				o.scenarios[cp.Name] = append(o.scenarios[cp.Name], s)
			}
		}
	}
	for _, id := range o.Scenarios {
		if !used[id] {
			return fmt.Errorf("no control plane of %s has a scenario %q; captf harness list shows them", strings.Join(names, ", "), id)
		}
	}
	return nil
}
