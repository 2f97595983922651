package workspace

import (
	"context"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/credentials"
	"github.com/captf-toolkit/captf/provider/internal/job"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/operation"
)

// settings are the merged policy of the object's Jobs.
func (p *pass) settings() job.Settings { return job.Resolve(p.obj, p.cluster()) }

// stepCredentials prepares the credentials on each pass, so that a rotation reaches the mirror and a withdrawal removes it
// (B-511). Those of a deleting object are prepared right before its Job, which may run with recorded ones.
func (p *pass) stepCredentials(ctx context.Context) (outcome, error) {
	if !p.obj.GetDeletionTimestamp().IsZero() {
		return outcome{}, nil
	}
	return p.ensureCredentials(ctx, credentials.Request{Object: p.obj, Cluster: p.cluster()})
}

func (p *pass) ensureCredentials(ctx context.Context, req credentials.Request) (outcome, error) {
	result, err := p.Credentials.Ensure(ctx, req)
	p.credentials = &result
	conditions.SetAll(p.obj, result.Conditions, p.now)
	p.deeds = append(p.deeds, result.Events...)
	if result.Denied != "" {
		metrics.IdentityDenied(string(result.Denied))
	}
	return outcome{requeue: result.RequeueAfter}, err
}

// readyCredentials prepares the credentials of a Job, live. A destroy that has to wait for them says so where people look
// for a deletion that does not end (B-514, B-833).
func (p *pass) readyCredentials(ctx context.Context, op infrav1.Operation, f *files) (bool, outcome, error) {
	req := credentials.Request{Object: p.obj, Cluster: p.cluster(), Live: true}
	if f.identity.Name != "" {
		req.Identity = &f.identity
	}
	out, err := p.ensureCredentials(ctx, req)
	if err != nil || p.credentials.Ready() {
		return err == nil, outcome{}, err
	}
	out.stop, out.requeue = true, operation.GateRequeue
	missing := p.credentials.Unready()
	if op != infrav1.OperationDestroy {
		return false, out, nil
	}
	out.conditions = append(out.conditions, conditions.Condition{Type: infrav1.DeletingCondition, Value: conditions.True(infrav1.DeletingReason,
		"the %s waits for %s, which is %s with reason %s", op, missing.Type, missing.Status, missing.Reason)})
	if missing.Reason == infrav1.NamespaceNotAllowedReason || missing.Reason == infrav1.IdentityNotFoundReason {
		out.conditions = append(out.conditions, conditions.Condition{Type: infrav1.ApplyJobSucceededCondition, Value: conditions.False(
			infrav1.IdentityNotAllowedReason, "the destroy cannot start: %s", missing.Message)})
	}
	return false, out, nil
}
