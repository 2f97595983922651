package workspace

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/operation"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// facts are all that the choice of the operation depends on (B-035).
func (p *pass) facts() operation.Facts {
	status := p.obj.WorkspaceStatus()
	f := p.stateFacts(nil)
	if p.held != nil {
		f.State = operation.State{Kind: operation.StateHeld, Reason: p.held.Reason}
	}
	f.Now, f.UID, f.Created = p.now, p.obj.GetUID(), p.obj.GetCreationTimestamp().Time
	f.Deleting = !p.obj.GetDeletionTimestamp().IsZero()
	f.Runs = p.runs()
	f.Intervals = operation.IntervalsOf(p.obj, p.cluster(), p.Options.DriftInterval)
	f.FailedLimit = p.settings().FailedJobsHistoryLimit
	if p.rendered != nil {
		f.Inputs = &operation.Inputs{Hash: p.rendered.Hash, Image: p.obj.Workspace().Source.Image}
	}
	if status.LastRefresh != nil {
		f.LastRefresh = status.LastRefresh.Time
	}
	if status.LastDriftCheck != nil {
		f.LastDriftCheck = status.LastDriftCheck.Time
	}
	f.Pending = p.pending
	f.PendingRefreshes = int(status.PendingRefreshes)
	f.Converging = p.converging
	return f
}

// cluster is the TerraformCluster that a machine or pool inherits from, nil if it is not found.
func (p *pass) cluster() *infrav1.TerraformCluster {
	if p.owners == nil {
		return nil
	}
	return p.owners.TerraformCluster
}

// stepScheme rewrites a hash of an older scheme on the state, if the recorded inputs are the current ones under the new
// scheme: that the scheme changed is no reason to apply (B-344, design D3).
func (p *pass) stepScheme(ctx context.Context) (outcome, error) {
	if p.state == nil || p.rendered == nil || p.held != nil || scheme(p.state.InputsHash) == scheme(p.rendered.Hash) || p.state.InputsHash == "" {
		return outcome{}, nil
	}
	applied, err := p.Records.Get(ctx, p.obj.GetNamespace(), p.owner().AppliedName())
	if err != nil || applied == nil {
		return outcome{}, err
	}
	hashes, err := inputs.Rehash(p.Inputs.Contract, p.Role, inputs.Files{Root: applied.Root, Values: applied.Values})
	// The record's own hash is the state's, or the new one if a crash came between the two writes below.
	if err != nil || hashes.Inputs != p.rendered.Hash || applied.InputsHash != p.state.InputsHash && applied.InputsHash != hashes.Inputs {
		return outcome{}, nil //nolint:nilerr // a record that cannot be hashed anew is applied over
	}
	applied.InputsHash = hashes.Inputs
	if err := p.Records.ReplaceApplied(ctx, p.owner(), *applied); err != nil {
		return outcome{}, err
	}
	if _, err := p.States.Store.Adopt(ctx, p.key, p.ownerReference(), state.Marks{InputsHash: &hashes.Inputs}); err != nil {
		return outcome{}, fmt.Errorf("rewriting the hash on the state of %s %s/%s: %w", p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName(), err)
	}
	p.States.Forget(p.key)
	return outcome{stop: true, requeue: operation.LagRequeue}, nil
}

// scheme is the prefix of a hash, such as h2.
func scheme(hash string) string {
	prefix, _, _ := strings.Cut(hash, ":")
	return prefix
}

// stepChoice decides what to do, and does what needs no Job.
func (p *pass) stepChoice(ctx context.Context) (outcome, error) {
	p.decision = operation.Choose(p.facts())
	d := p.decision
	if d.Reason != "" && !d.Gated {
		op := string(d.Operation)
		if op == "" {
			op = "none"
		}
		metrics.Decision(p.Role.Kind(), op, string(d.Reason))
	}
	p.judgeInputs()
	switch {
	case d.RemoveFinalizer:
		return p.finish(ctx)
	case d.Operation == infrav1.OperationDestroy:
		if v := p.mustStay(); v != nil {
			return outcome{stop: true, requeue: operation.StateRequeue, conditions: []conditions.Condition{{Type: infrav1.DeletingCondition, Value: *v}}}, nil
		}
	case d.Operation == "":
		return outcome{stop: true, requeue: d.RequeueAfter}, nil
	}
	return outcome{}, nil
}

// judgeInputs sets InputsApplied (provider-status.md 2.10, B-661). It is frozen while the object is being deleted.
func (p *pass) judgeInputs() {
	if !p.obj.GetDeletionTimestamp().IsZero() {
		return
	}
	if conditions.Get(p.obj, infrav1.ApplyJobSucceededCondition) == nil {
		v := conditions.Unknown(infrav1.NoApplyYetReason, "no apply has finished yet")
		if p.state != nil && p.state.InputsHash != "" {
			v = conditions.True(infrav1.ApplySucceededReason, "")
		}
		p.set(infrav1.ApplyJobSucceededCondition, v)
	}
	p.set(infrav1.InputsAppliedCondition, p.inputsApplied())
}

func (p *pass) inputsApplied() conditions.Value {
	hash, image := "", ""
	if p.state != nil {
		hash, image = p.state.InputsHash, p.state.Image
	}
	pinned := !p.mutable() && hash != ""
	if pinned {
		return conditions.True(infrav1.InputsAppliedReason, "")
	}
	if p.rendered == nil {
		return conditions.Unknown(infrav1.InputsUnavailableReason, "the inputs cannot be built: see %s", cmp.Or(p.gate, infrav1.DependenciesReadyCondition))
	}
	applied := hash == p.rendered.Hash && image == p.obj.Workspace().Source.Image
	if applied && p.decision.Operation != infrav1.OperationApply {
		return conditions.True(infrav1.InputsAppliedReason, "")
	}
	if n, _ := operation.Failures(p.runs(), infrav1.OperationApply); n > 0 {
		return conditions.False(infrav1.InputsApplyFailedReason, "the newest apply failed: see ApplyJobSucceeded")
	}
	return conditions.False(infrav1.ApplyPendingReason, "the current inputs are not applied yet")
}
