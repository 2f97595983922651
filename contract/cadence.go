package contract

import "time"

// RefreshAfterApply says whether a refresh follows an apply (contract.md 14.2).
type RefreshAfterApply string

// When a refresh follows an apply.
const (
	RefreshNever RefreshAfterApply = "never"
	// RefreshUnlessDefinite: unless the apply's own outputs are valid with a
	// health other than pending and unknown.
	RefreshUnlessDefinite RefreshAfterApply = "unlessDefinite"
	RefreshAlways         RefreshAfterApply = "always"
)

// Intervals that objects of every version share (contract.md 11.6, 14.2, 14.4).
const (
	// DefaultDriftInterval lies between two drift checks, unless the object says otherwise.
	DefaultDriftInterval = 1800 * time.Second
	// DefaultHealthCheckInterval lies between two readings of a machine that is
	// remediated; MinHealthCheckInterval to MaxHealthCheckInterval are accepted.
	DefaultHealthCheckInterval = 300 * time.Second
	MinHealthCheckInterval     = 60 * time.Second
	MaxHealthCheckInterval     = 86400 * time.Second
	// DefaultMembershipInterval lies between two readings of a pool;
	// MinMembershipInterval to MaxMembershipInterval are accepted.
	DefaultMembershipInterval = 60 * time.Second
	MinMembershipInterval     = 15 * time.Second
	MaxMembershipInterval     = 86400 * time.Second
)

// Cadence says how often the infrastructure of a role is read.
type Cadence struct {
	// AfterApply says whether an apply is followed by a refresh.
	AfterApply RefreshAfterApply
	// Pending are the waits from one refresh to the next while the outputs are
	// unsettled; the last one repeats.
	Pending []time.Duration
	// Membership is the default interval between refreshes of a settled object;
	// 0 leaves it to the drift check.
	Membership time.Duration
}

// backoff is the pending cadence of single objects (B-097).
var backoff = []time.Duration{
	30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute,
}

var cadences = map[Role]Cadence{
	RoleCluster:     {AfterApply: RefreshNever, Pending: backoff},
	RoleMachine:     {AfterApply: RefreshUnlessDefinite, Pending: backoff},
	RoleMachinePool: {AfterApply: RefreshAlways, Pending: backoff[:1], Membership: DefaultMembershipInterval},
}

// CadenceOf returns how often objects of the role are read. The result must
// not be changed.
func CadenceOf(role Role) Cadence { return cadences[role] }

// Wait returns the time from the last refresh to the next one while the
// outputs are unsettled, given how many refreshes found them so. A pool whose
// own membership interval is shorter uses that (B-096).
func (c Cadence) Wait(refreshes int) time.Duration {
	if len(c.Pending) == 0 {
		return 0
	}
	return c.Pending[max(0, min(refreshes, len(c.Pending)-1))]
}

// RefreshesAfterApply tells whether a refresh follows an apply that left these
// outputs and violations.
func (c Cadence) RefreshesAfterApply(health Health, vs Violations) bool {
	switch c.AfterApply {
	case RefreshAlways:
		return true
	case RefreshUnlessDefinite:
		return !outputsUsable(vs) || health.State == HealthPending || health.State == HealthUnknown
	default:
		return false
	}
}
