package operation

import (
	"time"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Intervals lie between two checks of the same kind; 0 turns a check off.
type Intervals struct {
	// Drift lies between two drift checks.
	Drift time.Duration
	// HealthCheck lies between two readings of a machine that may be remediated.
	HealthCheck time.Duration
	// Membership lies between two readings of a pool's members.
	Membership time.Duration
}

// IntervalsOf returns the intervals of an object. Machines and pools take what they do not set from their cluster, nil if it
// is not found; the drift interval that nobody sets is the manager's (B-680, B-710, B-800).
func IntervalsOf(object infrav1.Workspace, cluster *infrav1.TerraformCluster, drift time.Duration) Intervals {
	var defaults infrav1.ClusterDefaults
	var inherited []*int32 // drift intervals of the cluster, for machines and pools
	if cluster != nil {
		if cluster.Spec.Defaults != nil {
			defaults = *cluster.Spec.Defaults
		}
		inherited = []*int32{interval(defaults.Drift), interval(cluster.Spec.Drift)}
	}

	switch o := object.(type) {
	case *infrav1.TerraformCluster:
		return Intervals{Drift: firstInterval(drift, interval(o.Spec.Drift))}
	case *infrav1.TerraformMachine:
		var own *int32
		if o.Spec.Drift != nil {
			own = o.Spec.Drift.IntervalSeconds
		}
		return Intervals{
			Drift:       firstInterval(drift, append([]*int32{own}, inherited...)...),
			HealthCheck: healthCheckInterval(o.Spec.Remediation, defaults.Remediation),
		}
	case *infrav1.TerraformMachinePool:
		out := Intervals{Drift: firstInterval(drift, inherited...), Membership: contract.DefaultMembershipInterval}
		if out.Drift == 0 {
			out.Drift = drift // a pool's drift checks cannot be turned off
		}
		if o.Spec.Drift != nil && o.Spec.Drift.IntervalSeconds > 0 {
			out.Drift = seconds(o.Spec.Drift.IntervalSeconds)
		}
		for _, s := range []int32{defaults.MembershipRefreshIntervalSeconds, o.Spec.MembershipRefreshIntervalSeconds} {
			if s > 0 {
				out.Membership = seconds(s)
			}
		}
		return out
	default:
		return Intervals{}
	}
}

// healthCheckInterval is 0 unless remediation may be asked for; each field is the machine's own, else the cluster's default.
func healthCheckInterval(own, defaults *infrav1.RemediationPolicy) time.Duration {
	annotate, out := false, contract.DefaultHealthCheckInterval
	for _, p := range []*infrav1.RemediationPolicy{defaults, own} {
		if p == nil {
			continue
		}
		if p.AnnotateMachine != nil {
			annotate = *p.AnnotateMachine
		}
		if p.HealthCheckIntervalSeconds > 0 {
			out = seconds(p.HealthCheckIntervalSeconds)
		}
	}
	if !annotate {
		return 0
	}
	return out
}

func interval(p *infrav1.DriftPolicy) *int32 {
	if p == nil {
		return nil
	}
	return p.IntervalSeconds
}

// firstInterval returns the first that is set, else the default.
func firstInterval(def time.Duration, candidates ...*int32) time.Duration {
	for _, s := range candidates {
		if s != nil {
			return seconds(*s)
		}
	}
	return def
}

func seconds(s int32) time.Duration { return time.Duration(s) * time.Second }
