package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/scenario"
)

// maxRandom bounds how many random scenarios one command plays.
const maxRandom = 100_000

// addScenarioFlags adds the flags that choose scenarios which are not built in.
func addScenarioFlags(cmd *cobra.Command, f *harnessFlags) {
	cmd.Flags().StringArrayVar(&f.scenarioFiles, "scenario-file", nil, "file with a scenario to play, in YAML or JSON; may be repeated (see captf harness list -o yaml)")
	cmd.Flags().IntVar(&f.random, "random", 0, "number of random scenarios to play, of the seeds from --seed on; --scenario adds others")
	if err := cmd.MarkFlagFilename("scenario-file", "yaml", "yml", "json"); err != nil {
		panic(err) // the flag was added above
	}
}

// chooseScenarios returns the scenarios that are asked for: those with the given
// ids, in the order given and each once, then those of files and random ones;
// without any the control plane's first.
func (f harnessFlags) chooseScenarios(cp *harness.ControlPlane) ([]harness.Scenario, error) {
	switch {
	case f.all && len(f.scenarios) > 0:
		return nil, errors.New("--all and --scenario exclude each other")
	case f.random < 0 || f.random > maxRandom:
		return nil, fmt.Errorf("parsing --random %d: it must be from 1 to %d", f.random, maxRandom)
	case f.all && f.random > 0:
		return nil, errors.New("--all and --random exclude each other")
	}
	var chosen []harness.Scenario
	if f.all {
		chosen = slices.Clone(cp.Scenarios)
	}
	for n, id := range f.scenarios {
		at := slices.IndexFunc(cp.Scenarios, func(s harness.Scenario) bool { return strings.EqualFold(s.ID, id) })
		if at < 0 {
			return nil, fmt.Errorf("parsing --scenario %q: %s; the control plane %s has %s", id, unknownScenario(cp, id), cp.Name, strings.Join(scenarioIDs(cp), ", "))
		}
		if !slices.Contains(f.scenarios[:n], id) {
			chosen = append(chosen, cp.Scenarios[at])
		}
	}
	for _, name := range f.scenarioFiles {
		s, err := f.scenarioFile(cp, name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(chosen, func(o harness.Scenario) bool { return o.ID == s.ID }) {
			return nil, fmt.Errorf("parsing --scenario-file %s: a scenario with the id %s is played already", name, s.ID)
		}
		chosen = append(chosen, s)
	}
	if len(chosen) == 0 && f.random == 0 {
		return cp.Scenarios[:1], nil
	}
	return chosen, nil
}

// scenarioFile reads a scenario of the user.
func (f harnessFlags) scenarioFile(cp *harness.ControlPlane, name string) (harness.Scenario, error) {
	s, err := scenario.Load(name, scenario.OptionsFor(cp))
	switch {
	case err != nil && os.IsNotExist(errors.Unwrap(err)):
		return s, fmt.Errorf("parsing --scenario-file: %w", err)
	case err != nil:
		return s, fmt.Errorf("parsing --scenario-file %s:\n%w", name, err)
	case len(s.ControlPlanes) > 0 && !slices.Contains(s.ControlPlanes, cp.Name):
		return s, fmt.Errorf("parsing --scenario-file %s: it is for %s, and --control-plane is %s", name, strings.Join(s.ControlPlanes, ", "), cp.Name)
	}
	return s, nil
}

// addRandom makes up the scenarios of --random, each of a seed that it is played
// with too. It adds them to those that are asked for.
func (r *harnessRun) addRandom() error {
	if r.random == 0 {
		return nil
	}
	o := scenario.RandomOptions{ControlPlane: r.plane.Name, Pool: slices.Contains(r.modules.Roles(), contract.RoleMachinePool), Odd: r.plane.Name == controlPlanes()[0].Name}
	for _, info := range harness.Faults() {
		if r.simulated != nil && info.Player != harness.PlayedByHarness || info.Player == harness.PlayedByRunner && !info.Orphans {
			o.Kinds = append(o.Kinds, info.Kind)
		}
	}
	r.seeds = map[string]uint64{}
	for n := range uint64(r.random) { //nolint:gosec // not negative
		f := scenario.Random(r.seed+n, o)
		s, err := scenario.Build(f, scenario.OptionsFor(r.plane))
		if err != nil {
			return fmt.Errorf("making up the scenario of seed %d: %w", r.seed+n, err)
		}
		text, err := scenario.Encode(f)
		if err != nil {
			return err
		}
		s.Text = string(text)
		r.scenarios, r.seeds[s.ID] = append(r.scenarios, s), r.seed+n
	}
	return nil
}

// seedOf returns the seed that a scenario is played with.
func (o *harnessOrder) seedOf(s harness.Scenario) uint64 {
	if seed, random := o.seeds[s.ID]; random {
		return seed
	}
	return o.seed
}

// firstScenario names what could not be played, in the result of a run that did not begin.
func (r *harnessRun) firstScenario() string {
	if len(r.scenarios) == 0 {
		return "random"
	}
	return r.scenarios[0].ID
}

// mayLeaveOut tells that a scenario which cannot be played is only listed: the
// user did not ask for it by name.
func (r *harnessRun) mayLeaveOut() bool { return r.all }

// leaveOut notes a scenario that cannot be played.
func (r *harnessRun) leaveOut(s harness.Scenario, why *harness.CannotPlayError) {
	r.notPlayed = append(r.notPlayed, harness.NotPlayed{Scenario: s.ID, Title: s.Title, Reason: why.Reason})
	fmt.Fprintf(r.stderr, "Scenario %s is not played: %s.\n", s.ID, why.Reason)
}

// nothingPlayed is an error when no scenario could be played.
func (r *harnessRun) nothingPlayed(results []*harness.Result) error {
	if len(results) > 0 || len(r.notPlayed) == 0 {
		return nil
	}
	return errors.New("none of the scenarios can be played with this set")
}

// tellRandom prints a random scenario that failed, as a file that plays it again.
func (r *harnessRun) tellRandom(s harness.Scenario, result *harness.Result) {
	if r.random == 0 || s.Text == "" || result.Verdict == harness.VerdictPassed {
		return
	}
	seed := strconv.FormatUint(result.Seed, 10)
	fmt.Fprintf(r.stderr, "The scenario of seed %s did not pass. As a file, for --scenario-file with --seed %s:\n%s",
		seed, seed, s.Text)
}

// unknownScenario says whose scenario it is, or which the nearest is.
func unknownScenario(cp *harness.ControlPlane, id string) string {
	for _, other := range controlPlanes() {
		if slices.ContainsFunc(other.Scenarios, func(s harness.Scenario) bool { return strings.EqualFold(s.ID, id) }) {
			return "it is one of --control-plane " + other.Name
		}
	}
	return "there is no such scenario, the nearest is " + nearest(id, scenarioIDs(cp))
}
