package webhooks

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// may asks the API server whether the requester may do something.
func (o Options) may(ctx context.Context, user authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra(user.Extra),
		ResourceAttributes: &what,
	}}
	if err := o.Client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking whether %s may %s %s: %w", user.Username, what.Verb, what.Resource, err)
	}
	return review.Status.Allowed, nil
}

func extra(in map[string]authenticationv1.ExtraValue) map[string]authorizationv1.ExtraValue {
	if in == nil {
		return nil
	}
	out := make(map[string]authorizationv1.ExtraValue, len(in))
	for key, value := range in {
		out[key] = authorizationv1.ExtraValue(value)
	}
	return out
}

// approvals are the annotations that approve a plan.
var approvals = []string{infrav1.AnnotationApprovePlan, infrav1.AnnotationApproveDestructivePlan}

// checkApproval lets only who may update TerraformPlans approve one by an annotation of its target (B-747). Taking an
// annotation away approves nothing.
func (o Options) checkApproval(ctx context.Context, r *review, before, after metav1.Object) {
	if o.manager(r) {
		return
	}
	var asked *bool
	for _, key := range approvals {
		value, set := after.GetAnnotations()[key]
		if old, had := before.GetAnnotations()[key]; !set || (had && old == value) {
			continue
		}
		if asked == nil {
			ok, err := o.may(ctx, r.request.UserInfo, authorizationv1.ResourceAttributes{
				Namespace: r.request.Namespace, Verb: "update", Group: infrav1.GroupVersion.Group, Resource: "terraformplans",
			})
			if err != nil {
				r.fail("checking an approval: %w", err)
				return
			}
			asked = &ok
		}
		if !*asked {
			r.deny(field.Forbidden(field.NewPath("metadata", "annotations").Key(key), fmt.Sprintf(
				"it approves a plan, for which %s needs the right to update terraformplans in namespace %s",
				r.request.UserInfo.Username, r.request.Namespace)))
		}
	}
}
