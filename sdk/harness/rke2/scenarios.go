package rke2

import "github.com/captf-toolkit/captf/sdk/harness"

// registrationHost is the address that the user of the method address gives.
const registrationHost = "register.example.com"

// scenarios are those of control-planes.md 9.2, and those of 9.1 that are the
// same under this control plane; the first is the default.
func scenarios() []harness.Scenario {
	replicas, six, none := 2, 6, 0
	two := harness.Step{
		ID: "create-two", Title: "the user creates a cluster of 2 control-plane machines", Ask: &harness.Ask{ControlPlanes: &replicas},
	}
	workers := harness.Step{ID: "workers", Title: "the user scales the workers to 6", Ask: &harness.Ask{Workers: &six}}
	controlPlaneGone := harness.Step{
		ID: "delete-control-plane", Title: "the user scales the workers to 0 and deletes the control plane, and keeps the pool",
		Ask: &harness.Ask{Workers: &none, DeleteControlPlane: true},
	}
	out := []harness.Scenario{
		{
			ID: "rke2-life", Title: "a cluster's whole life: R1, R2, then K2, K4, K5, K6 and K10 in one story, with probes", Probes: true,
			Steps: []harness.Step{
				harness.StepCreate, harness.StepScaleUp, harness.StepRollout, harness.StepRolloutInPlace, harness.StepScaleDown, harness.StepDelete,
			},
		},
		{ID: "R1", Title: "bring-up with the default registration: names differ, joins go to 9345 on the endpoint's host", Steps: []harness.Step{harness.StepCreateThree, harness.StepDelete}},
		{ID: "R2", Title: "joins wait for the first Ready control-plane machine", Steps: []harness.Step{harness.StepCreate, harness.StepDelete}},
	}
	for _, method := range []string{methodAddress, methodInternalFirst, methodInternalOnly, methodExternalOnly} {
		s := harness.Scenario{
			ID: "R3-" + method, Title: "registration method " + method, Registration: method,
			Steps: []harness.Step{harness.StepCreateThree, harness.StepDelete},
		}
		if method == methodAddress {
			s.RegistrationAddress = registrationHost
		}
		out = append(out, s)
	}
	return append(out,
		harness.Scenario{ID: "R4", Title: "nodes join through every control-plane machine (internal-first)", Registration: methodInternalFirst, Steps: []harness.Step{harness.StepCreateThree, workers, harness.StepDelete}},
		harness.Scenario{ID: "R5", Title: "bootstrap data packed with gzip", Bootstrap: harness.BootstrapOptions{Gzip: true}, Steps: []harness.Step{harness.StepCreateThree, harness.StepDelete}},
		harness.Scenario{ID: "R5-ignition", Title: "bootstrap data packed with gzip inside of ignition", Bootstrap: harness.BootstrapOptions{Gzip: true, Format: formatIgnition}, Steps: []harness.Step{harness.StepCreateThree, harness.StepDelete}},
		harness.Scenario{
			ID: "R6", Title: "scale down with the handshake that removes an etcd member, and with the exclusion label",
			Annotations: map[string]string{exclusionAnnotation: "true"}, Steps: []harness.Step{harness.StepCreateThree, harness.StepScaleDown, harness.StepDelete},
		},
		harness.Scenario{ID: "R8", Title: "two control-plane machines are accepted", Steps: []harness.Step{two, harness.StepDelete}},
		harness.Scenario{ID: "R9", Title: "delete the control plane while a pool exists", Steps: []harness.Step{harness.StepCreate, controlPlaneGone, harness.StepDelete}},
		harness.Scenario{ID: "R10", Title: "api_server_port 7443, which RKE2 does not follow", APIServerPort: 7443, Steps: []harness.Step{harness.StepCreateControlPlane, harness.StepDelete}},
	)
}
