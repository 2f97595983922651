package kcp

import "github.com/captf-toolkit/captf/sdk/harness"

// scenarios are those of control-planes.md 9.1 that are played; the first is
// the default.
func scenarios() []harness.Scenario {
	return []harness.Scenario{
		{
			ID: "life", Title: "a cluster's whole life: K1, K2, K4, K5, K6 and K10 in one story, with probes", Probes: true,
			Steps: []harness.Step{
				harness.StepCreate, harness.StepScaleUp, harness.StepRollout, harness.StepRolloutInPlace, harness.StepScaleDown, harness.StepDelete,
			},
		},
		{ID: "K1", Title: "bring-up with one control-plane machine", Steps: []harness.Step{harness.StepCreateControlPlane, harness.StepDelete}},
		{ID: "K2", Title: "scale the control plane from 1 to 3", Steps: []harness.Step{harness.StepCreateControlPlane, harness.StepScaleUp, harness.StepDelete}},
		{
			ID: "K3", Title: "race at initialisation: the cluster's re-apply comes before the next machine", Race: harness.RaceClusterFirst,
			Steps: []harness.Step{harness.StepCreateThree, harness.StepDelete},
		},
		{
			ID: "K3-machine-first", Title: "race at initialisation: the next machine comes before the cluster's re-apply", Race: harness.RaceMachineFirst,
			Steps: []harness.Step{harness.StepCreateThree, harness.StepDelete},
		},
		{ID: "K4", Title: "rollout with surge 1", Steps: []harness.Step{harness.StepCreateThree, harness.StepRollout, harness.StepDelete}},
		{ID: "K5", Title: "rollout with surge 0", Steps: []harness.Step{harness.StepCreateThree, harness.StepRolloutInPlace, harness.StepDelete}},
		{ID: "K6", Title: "scale the control plane from 3 to 1", Steps: []harness.Step{harness.StepCreateThree, harness.StepScaleDown, harness.StepDelete}},
		{ID: "K10", Title: "delete a cluster of 3 control-plane machines and 2 workers", Steps: []harness.Step{harness.StepCreateThree, harness.StepDelete}},
		{ID: "K11", Title: "an endpoint that the user gives", Endpoint: harness.EndpointUser, Steps: []harness.Step{harness.StepCreateControlPlane, harness.StepDelete}},
	}
}
