package webhooks

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// phaseLabel is the path of the label that keeps a plan's phase.
var phaseLabel = field.NewPath("metadata", "labels").Key(infrav1.LabelPlanPhase)

// plan checks who approves and who moves a plan on (B-761). The schema keeps everything but the approval as it is, and an
// approval from being taken back.
func (o Options) plan(_ context.Context, r *review, before, after *infrav1.TerraformPlan) {
	switch {
	case after == nil:
		return
	case before == nil:
		o.checkNewPlan(r, after)
		before = &infrav1.TerraformPlan{}
	default:
		o.checkPlanChange(r, before, after)
	}
	if !final(phaseOf(after)) {
		warnLater(r, spec, before, after)
	}
}

// checkNewPlan: besides the manager, only clusterctl move makes plans, and may bring one that is over as it was.
func (o Options) checkNewPlan(r *review, plan *infrav1.TerraformPlan) {
	phase := phaseOf(plan)
	if o.manager(r) || final(phase) {
		return
	}
	checkApprover(r, plan)
	switch {
	case phase == "", phase == infrav1.PlanPhasePending:
	case phase == infrav1.PlanPhaseApproved && approved(plan):
	case phase == infrav1.PlanPhaseApproved:
		r.deny(invalid(phaseLabel, "a plan that is not approved has the phase Pending"))
	default:
		r.deny(field.Invalid(phaseLabel, string(phase), "is no phase of a plan; leave the label out, or write Pending"))
	}
}

func (o Options) checkPlanChange(r *review, before, after *infrav1.TerraformPlan) {
	if old, had := before.Labels[infrav1.LabelPlanPhase]; !o.manager(r) {
		if value, has := after.Labels[infrav1.LabelPlanPhase]; had != has || old != value {
			r.deny(field.Forbidden(phaseLabel, "only the provider's manager changes or removes it"))
		}
	}
	if !changed(before.Spec, after.Spec) {
		return
	}
	if phase := phaseOf(before); final(phase) {
		r.deny(field.Forbidden(spec, fmt.Sprintf("the plan is %s and cannot be approved any more; approve the target's status.pendingPlanRef", phase)))
	}
	if approved(after) && !approved(before) {
		checkApprover(r, after)
	}
}

// checkApprover lets everyone approve in their own name only.
func checkApprover(r *review, plan *infrav1.TerraformPlan) {
	if user := r.request.UserInfo.Username; approved(plan) && plan.Spec.ApprovedBy != user {
		r.deny(field.Invalid(spec.Child("approvedBy"), plan.Spec.ApprovedBy, "it is who approves: "+user))
	}
}

func approved(plan *infrav1.TerraformPlan) bool {
	return plan.Spec.Approved != nil && *plan.Spec.Approved
}

func phaseOf(plan *infrav1.TerraformPlan) infrav1.PlanPhase {
	return infrav1.PlanPhase(plan.Labels[infrav1.LabelPlanPhase])
}

// final tells that a phase is never left.
func final(phase infrav1.PlanPhase) bool {
	return phase == infrav1.PlanPhaseApplied || phase == infrav1.PlanPhaseSuperseded || phase == infrav1.PlanPhaseFailed
}
