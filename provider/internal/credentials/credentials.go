package credentials

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

// RetryAfter is when a pass looks again at credentials that are not ready (provider-ops.md 6.5).
const RetryAfter = 30 * time.Second

// DefaultSyncPeriod is the manager's --sync-period if it sets none.
const DefaultSyncPeriod = 10 * time.Minute

// Options are what Credentials works with.
type Options struct {
	// Client writes, and reads from the manager's cache: TerraformClusterIdentities, the three workload kinds, Clusters,
	// metadata of Secrets labelled as managed, and what Cached names.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
	// SyncPeriod is how long what is not watched is remembered; zero is DefaultSyncPeriod.
	SyncPeriod time.Duration
}

// Credentials prepares identities, mirrors and RBAC. It is shared by all controllers of a manager and safe for
// concurrent use.
type Credentials struct {
	client     client.Client
	live       client.Reader
	clock      clock.PassiveClock
	syncPeriod time.Duration

	sources    memory[sourceKey, facts]
	namespaces memory[string, namespaceFacts]
	optIns     memory[client.ObjectKey, bool]
	users      users
}

// New returns Credentials.
func New(o Options) *Credentials {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.SyncPeriod <= 0 {
		o.SyncPeriod = DefaultSyncPeriod
	}
	return &Credentials{
		client: o.Client, live: o.Live, clock: o.Clock, syncPeriod: o.SyncPeriod,
		sources:    newMemory[sourceKey, facts](o.Clock),
		namespaces: newMemory[string, namespaceFacts](o.Clock),
		optIns:     newMemory[client.ObjectKey, bool](o.Clock),
	}
}

// Request says whose credentials to prepare.
type Request struct {
	// Object runs the module.
	Object infrav1.Workspace
	// Cluster is the TerraformCluster of a machine or pool; nil if there is none or it was not found. It is not looked at
	// for a TerraformCluster.
	Cluster *infrav1.TerraformCluster
	// Identity, if set, is used instead of what the object resolves to: that of the record that a destroy runs from (B-380).
	Identity *infrav1.IdentityReference
	// Live reads from the API server what was remembered or cached. Set it right before a Job is created; a pass that
	// starts none leaves it out.
	Live bool
}

// Denial is why an identity was denied, as the label of captf_identity_denied_total.
type Denial string

// Denials (provider-status.md 4).
const (
	// DenialNotFound is an identity or a Secret that does not exist.
	DenialNotFound Denial = "notfound"
	// DenialIncomplete is a Secret without a required key.
	DenialIncomplete Denial = "incomplete"
	// DenialNamespace is a namespace that the identity does not allow.
	DenialNamespace Denial = "namespace"
)

// Reasons of events (provider-status.md 3.7).
const (
	// EventMirrorCreated: a mirror was made.
	EventMirrorCreated = "MirrorCreated"
	// EventMirrorRemoved: a mirror was removed.
	EventMirrorRemoved = "MirrorRemoved"
)

// Result is what Ensure found and did.
type Result struct {
	// Conditions are IdentityAllowed, CredentialsMirrored and RunnerRBACReady.
	Conditions []conditions.Condition
	// Identity is what the object runs with, its kind filled in; empty if nothing was named. Records keep it.
	Identity infrav1.IdentityReference
	// SecretName is the Secret in the object's namespace to give to the Job, empty until CredentialsMirrored is True.
	SecretName string
	// ServiceAccountName is the ServiceAccount of the Job.
	ServiceAccountName string
	// RequeueAfter is when to look again, zero if everything is in order.
	RequeueAfter time.Duration
	// Events are to be emitted on the object. They tell what happened to mirrors; what tells of conditions is made from
	// their transitions (conditions.Transitions).
	Events []conditions.Event
	// Denied counts one in captf_identity_denied_total. It is empty if the object was denied for the same reason before.
	Denied Denial
}

// Ready tells that a Job may run.
func (r Result) Ready() bool {
	for _, c := range r.Conditions {
		if c.Status != metav1.ConditionTrue {
			return false
		}
	}
	return len(r.Conditions) > 0
}

// Unready returns the first condition that keeps a Job from running, in the order of B-050, or nil.
func (r Result) Unready() *conditions.Condition {
	for i := range r.Conditions {
		if r.Conditions[i].Status != metav1.ConditionTrue {
			return &r.Conditions[i]
		}
	}
	return nil
}

// Ensure brings the object's credentials in order, as far as it may, and says where they stand. An error means that a read
// or a write did not work and that the pass is to be repeated; the Result is then valid too, its conditions say what is
// not known. Being denied is no error. It changes nothing of the object.
//
// It is not called for an object that is paused (B-039) or has an active Job (B-010).
func (c *Credentials) Ensure(ctx context.Context, req Request) (Result, error) {
	p := &pass{Credentials: c, Request: req, namespace: req.Object.GetNamespace()}
	verdict, checkErr := p.check(ctx)
	mirrored, mirrorErr := p.mirrored(ctx, verdict)
	rbac, rbacErr := p.rbac(ctx)

	p.result.ServiceAccountName = ServiceAccountName(req.Object, req.Cluster)
	if mirrored.Status == metav1.ConditionTrue {
		p.result.SecretName = verdict.secretName()
	}
	p.result.Conditions = []conditions.Condition{
		{Type: infrav1.IdentityAllowedCondition, Value: verdict.allowed},
		{Type: infrav1.CredentialsMirroredCondition, Value: mirrored},
		{Type: infrav1.RunnerRBACReadyCondition, Value: rbac},
	}
	if verdict.denied != "" && !conditions.HasReason(req.Object, infrav1.IdentityAllowedCondition, verdict.allowed.Reason) {
		p.result.Denied = verdict.denied
	}
	if !p.result.Ready() {
		p.result.RequeueAfter = RetryAfter
	}
	return p.result, errors.Join(checkErr, mirrorErr, rbacErr)
}

// pass is one Ensure.
type pass struct {
	*Credentials
	Request
	namespace string
	result    Result
}

func (p *pass) event(reason, format string, args ...any) {
	p.result.Events = append(p.result.Events, conditions.NewEvent(reason, fmt.Sprintf(format, args...)))
}

// terminating tells that a write was refused because its namespace is going away, which is no error (B-834).
func terminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// unlessTerminating returns an error that is worth a retry.
func unlessTerminating(err error) error {
	if terminating(err) {
		return nil
	}
	return err
}
