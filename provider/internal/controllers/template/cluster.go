package template

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

// ClusterReconciler reconciles TerraformClusterTemplates.
type ClusterReconciler struct{ Reconciler }

// Reconcile does one pass.
func (r *ClusterReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	template := &infrav1.TerraformClusterTemplate{}
	if err := r.Client.Get(ctx, req.NamespacedName, template); apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.prune(ctx, &infrav1.TerraformClusterTemplateList{})
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading TerraformClusterTemplate %s: %w", req, err)
	}
	if !template.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	before := template.DeepCopy()
	p := &pass{
		Reconciler: &r.Reconciler, template: template, workspace: &template.Spec.Template.Spec.WorkspaceSpec,
		role: contract.RoleCluster, memory: r.remember(template.UID),
	}
	if err := p.variables(ctx); err != nil {
		return ctrl.Result{}, fmt.Errorf("checking the variables of TerraformClusterTemplate %s: %w", req, err)
	}
	template.Status.ObservedGeneration = template.Generation
	if !equality.Semantic.DeepEqual(before.Status, template.Status) {
		if err := r.Client.Status().Patch(ctx, template, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		p.tell(conditions.Transitions(before.Status.Conditions, template.Status.Conditions)...)
	}
	return ctrl.Result{RequeueAfter: p.requeue}, nil
}
