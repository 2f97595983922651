package workspace

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/operation"
	"github.com/captf-toolkit/captf/provider/internal/outputs"
)

// stepOutputs shows on the object what its infrastructure is, whatever keeps new work from starting (B-033, B-038). A
// deleting object keeps what it showed.
func (p *pass) stepOutputs(ctx context.Context) (outcome, error) {
	if !p.obj.GetDeletionTimestamp().IsZero() {
		return outcome{}, nil
	}
	reading, err := p.reading(ctx)
	if err != nil {
		return outcome{}, err
	}
	plan, err := outputs.Project(p.obj, reading)
	if err != nil {
		return outcome{}, err
	}
	plan.ApplySpec(p.obj)
	plan.ApplyStatus(p.obj, p.now)
	p.events = append(p.events, plan.Events...)
	p.pending = plan.Unsettled
	if plan.StandsIn {
		p.obj.WorkspaceStatus().LastRefresh = new(metav1.NewTime(p.sampled.finished))
	}
	if pool, ok := p.obj.(*infrav1.TerraformMachinePool); ok {
		p.converging = pool.Status.Replicas != nil && int(*pool.Status.Replicas) != len(pool.Spec.ProviderIDList)
	}
	if c := conditions.Get(p.obj, infrav1.OutputsValidCondition); c != nil && c.Status == metav1.ConditionFalse &&
		!conditions.HasReason(p.before, infrav1.OutputsValidCondition, c.Reason) {
		metrics.OutputsInvalid(p.Role.Kind(), c.Reason)
	}
	return outcome{}, p.remediate(ctx)
}

// reading is what the object is compared with.
func (p *pass) reading(ctx context.Context) (outputs.Reading, error) {
	r := outputs.Reading{
		Started: p.attempt != nil || len(p.jobs) > 0, Contract: p.Inputs.Contract, Cluster: p.owners.Cluster, MachinePool: p.owners.MachinePool,
	}
	if e := p.sampled; e != nil && e.outcome == operation.Succeeded {
		switch e.op {
		case infrav1.OperationApply:
			r.Sample = outputs.SampleApply
		case infrav1.OperationRefresh, infrav1.OperationDrift:
			r.Sample = outputs.SampleCheck
		}
	}
	if p.state == nil || p.held != nil {
		return r, nil
	}
	given, err := p.appliedInputs(ctx)
	if err != nil {
		return r, err
	}
	r.State = &outputs.State{
		Values: contract.Values{Outputs: p.state.Values()}, Applied: p.state.InputsHash != "", Serial: serial(p.state.Serial), Inputs: given,
	}
	return r, nil
}

// appliedInputs are what the last successful apply was given, as far as outputs are judged by it. They are read once for
// each version of the record, and kept without bootstrap data.
func (p *pass) appliedInputs(ctx context.Context) (contract.Inputs, error) {
	name := p.owner().AppliedName()
	meta, err := p.secretMeta(ctx, name)
	if err != nil || meta == nil {
		return nil, err
	}
	version := string(meta.UID) + "/" + meta.ResourceVersion
	if known, ok := p.given.Get(version); ok {
		given, _ := known.(contract.Inputs)
		return given, nil
	}
	r, err := p.Records.Get(ctx, p.obj.GetNamespace(), name)
	if err != nil || r == nil {
		return nil, err
	}
	given := inputs.Decode(p.Inputs.Contract, p.Role, inputs.Files{Root: r.Root, Values: r.Values})
	if m, ok := given.(*contract.MachineInputs); ok {
		m.Bootstrap.Data = nil
	}
	p.given.Add(version, given)
	return given, nil
}

// remediate marks the Machine of an unhealthy machine for replacement, or takes our mark back (B-711..B-713). The patch is
// bound to the version that was looked at; after a conflict the Machine is read live and looked at once more.
func (p *pass) remediate(ctx context.Context) error {
	machine, ok := p.obj.(*infrav1.TerraformMachine)
	if !ok || p.owners.Machine == nil {
		return nil
	}
	policy := inputs.RemediationOf(machine, p.cluster())
	owner := p.owners.Machine
	for try := range 2 {
		decision := outputs.Remediate(machine, owner, policy)
		changed := owner.DeepCopy()
		if !decision.Apply(changed) {
			return nil
		}
		err := p.Client.Patch(ctx, changed, client.MergeFromWithOptions(owner, client.MergeFromWithOptimisticLock{}))
		switch {
		case err == nil:
			if decision.Event != nil {
				p.events = append(p.events, *decision.Event)
			}
			metrics.Remediation(remediationMetric[decision.Mark])
			return nil
		case !apierrors.IsConflict(err) || try > 0:
			return fmt.Errorf("marking Machine %s/%s: %w", owner.Namespace, owner.Name, err)
		}
		owner = &clusterv1.Machine{}
		if err := p.Live.Get(ctx, client.ObjectKeyFromObject(changed), owner); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return nil
}

var remediationMetric = map[outputs.Mark]string{outputs.MarkSet: "requested", outputs.MarkRemove: "withdrawn"}
