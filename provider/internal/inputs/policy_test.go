package inputs_test

import (
	"testing"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
)

// parent returns a TerraformCluster with the changes.
func parent(changes ...func(*infrav1.TerraformClusterSpec)) *infrav1.TerraformCluster {
	c := &infrav1.TerraformCluster{}
	for _, change := range changes {
		change(&c.Spec)
	}
	return c
}

func withDefaults(d infrav1.ClusterDefaults) func(*infrav1.TerraformClusterSpec) {
	return func(s *infrav1.TerraformClusterSpec) { s.Defaults = &d }
}

func machine(seconds *int32) *infrav1.TerraformMachine {
	m := &infrav1.TerraformMachine{}
	if seconds != nil {
		m.Spec.Drift = &infrav1.MachineDriftPolicy{IntervalSeconds: seconds}
	}
	return m
}

func pool(seconds int32, action infrav1.DriftAction) *infrav1.TerraformMachinePool {
	p := &infrav1.TerraformMachinePool{}
	if seconds != 0 || action != "" {
		p.Spec.Drift = &infrav1.PoolDriftPolicy{IntervalSeconds: seconds, Action: action}
	}
	return p
}

// TestDeletionPolicy is the order of B-850 and B-856.
func TestDeletionPolicy(t *testing.T) {
	retain, destroy := infrav1.DeletionPolicyRetain, infrav1.DeletionPolicyDestroy
	withPolicy := func(s *infrav1.TerraformClusterSpec) { s.DeletionPolicy = retain }
	own := machine(nil)
	own.Spec.DeletionPolicy = destroy
	for name, c := range map[string]struct {
		obj      infrav1.Workspace
		cluster  *infrav1.TerraformCluster
		want     infrav1.DeletionPolicy
		resolved bool
	}{
		"cluster: unset":            {parent(), nil, destroy, true},
		"cluster: own":              {parent(withPolicy), nil, retain, true},
		"cluster: not its defaults": {parent(withDefaults(infrav1.ClusterDefaults{DeletionPolicy: retain})), nil, destroy, true},
		"machine: own":              {own, parent(withPolicy), destroy, true},
		"machine: own, no cluster":  {own, nil, destroy, true},
		"machine: defaults":         {machine(nil), parent(withDefaults(infrav1.ClusterDefaults{DeletionPolicy: destroy}), withPolicy), destroy, true},
		"pool: the cluster's":       {pool(0, ""), parent(withPolicy), retain, true},
		"pool: nobody says":         {pool(0, ""), parent(), destroy, true},
		"pool: no cluster":          {pool(0, ""), nil, "", false},
	} {
		got, resolved := inputs.DeletionPolicy(c.obj, c.cluster)
		if got != c.want || resolved != c.resolved {
			t.Errorf("%s: %q (%t), want %q (%t)", name, got, resolved, c.want, c.resolved)
		}
	}
}

// TestRemediationOf is the order of B-710, field by field.
func TestRemediationOf(t *testing.T) {
	inheriting := parent(withDefaults(infrav1.ClusterDefaults{Remediation: &infrav1.RemediationPolicy{
		AnnotateMachine: new(true), UnhealthyThreshold: 5, HealthCheckIntervalSeconds: 90,
	}}))
	with := func(p infrav1.RemediationPolicy) *infrav1.TerraformMachine {
		m := machine(nil)
		m.Spec.Remediation = &p
		return m
	}
	for name, c := range map[string]struct {
		machine *infrav1.TerraformMachine
		cluster *infrav1.TerraformCluster
		want    inputs.Remediation
	}{
		"nobody says":      {machine(nil), parent(), inputs.Remediation{Threshold: 3}},
		"no cluster":       {with(infrav1.RemediationPolicy{AnnotateMachine: new(true)}), nil, inputs.Remediation{Enabled: true, Threshold: 3}},
		"defaults":         {machine(nil), inheriting, inputs.Remediation{Enabled: true, Threshold: 5}},
		"own false wins":   {with(infrav1.RemediationPolicy{AnnotateMachine: new(false)}), inheriting, inputs.Remediation{Threshold: 5}},
		"own numbers win":  {with(infrav1.RemediationPolicy{UnhealthyThreshold: 1, HealthCheckIntervalSeconds: 60}), inheriting, inputs.Remediation{Enabled: true, Threshold: 1}},
		"own with no else": {with(infrav1.RemediationPolicy{UnhealthyThreshold: 1}), parent(), inputs.Remediation{Threshold: 1}},
	} {
		if got := inputs.RemediationOf(c.machine, c.cluster); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
