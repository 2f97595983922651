package fidelity

import (
	"context"
	"fmt"
	"strings"

	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/compare"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/harness/scenario"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// Plane is the control plane as it is compared: see Unseen.
func Plane() *harness.ControlPlane {
	plane := kcp.New()
	plane.Rotates = 0
	return plane
}

// Story reads the scenario of a file.
func Story(file string, plane *harness.ControlPlane) (harness.Scenario, error) {
	return scenario.Load(file, scenario.Options{Planes: []*harness.ControlPlane{plane}})
}

// Modules are a set of modules in a directory, run by a runtime; scratch is a directory for what runs leave.
func Modules(ctx context.Context, binary *runtime.Binary, set, scratch string) (harness.Modules, error) {
	modules, err := runner.OpenSet(set)
	if err != nil {
		return nil, err
	}
	return runner.New(ctx, modules, runner.Options{Binary: binary, Scratch: scratch, Definition: versions.Default(), Parallel: 2})
}

// Play plays a story and returns the life, as far as it could be observed.
func Play(ctx context.Context, plane *harness.ControlPlane, story harness.Scenario, modules harness.Modules) (compare.Trace, error) {
	result, err := harness.Play(ctx, harness.Config{Modules: modules, Definition: versions.Default(), ControlPlane: plane, Scenario: story, Seed: 1})
	if err != nil {
		return nil, fmt.Errorf("playing %s: %w", story.ID, err)
	}
	if result.Verdict != harness.VerdictPassed {
		return nil, fmt.Errorf("playing %s: the verdict is %s", story.ID, result.Verdict)
	}
	return compare.Project(byRole(result), compare.Observed), nil
}

// byRole tells the machines of the control plane from those of workers.
func byRole(result *harness.Result) []harness.StoryStep {
	roles := map[string]string{}
	steps := make([]harness.StoryStep, 0, len(result.Steps))
	for _, s := range result.Steps {
		if s.Type == harness.EventCreated && strings.HasPrefix(s.Object, machine+"/") {
			role := map[bool]string{true: ofControlPlane, false: ofWorker}[s.Actor == result.ControlPlane]
			roles[s.Object], roles[s.With] = role, role
		}
		s.Object = roles[s.Object] + s.Object
		steps = append(steps, s)
	}
	return steps
}
