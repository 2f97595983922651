package template

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/inspect"
)

// Reasons of events (provider-status.md 3.9).
const (
	eventCapacityResolved   = "CapacityResolved"
	eventImageInspectFailed = "ImageInspectFailed"
)

// MachineReconciler reconciles TerraformMachineTemplates.
type MachineReconciler struct{ Reconciler }

// Reconcile does one pass.
func (r *MachineReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	template := &infrav1.TerraformMachineTemplate{}
	if err := r.Client.Get(ctx, req.NamespacedName, template); apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.prune(ctx, &infrav1.TerraformMachineTemplateList{})
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading TerraformMachineTemplate %s: %w", req, err)
	}
	if !template.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	before := template.DeepCopy()
	p := &pass{
		Reconciler: &r.Reconciler, template: template, workspace: &template.Spec.Template.Spec.WorkspaceSpec,
		role: contract.RoleMachine, memory: r.remember(template.UID),
	}
	p.capacity(ctx, template)
	if err := p.variables(ctx); err != nil {
		return ctrl.Result{}, fmt.Errorf("checking the variables of TerraformMachineTemplate %s: %w", req, err)
	}
	template.Status.ObservedGeneration = template.Generation
	if !equality.Semantic.DeepEqual(before.Status, template.Status) {
		if err := r.Client.Status().Patch(ctx, template, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		p.tell(conditions.Transitions(before.Status.Conditions, template.Status.Conditions)...)
		if note, changed := resolved(&before.Status, &template.Status); changed {
			p.tell(conditions.NewEvent(eventCapacityResolved, note))
		}
	}
	if p.first {
		p.tell(conditions.NewEvent(eventImageInspectFailed, p.problem.Error()))
	}
	return ctrl.Result{RequeueAfter: p.requeue}, nil
}

// capacity decides CapacityResolved and what goes with it (provider-status.md 2.16, B-915 to B-917).
func (p *pass) capacity(ctx context.Context, t *infrav1.TerraformMachineTemplate) {
	if now := conditions.Get(t, infrav1.CapacityResolvedCondition); now != nil && settled(t) {
		// The same for the generation of now.
		p.resolve(t, conditions.Value{Status: now.Status, Reason: now.Reason, Message: now.Message})
		return
	}
	found, problem := p.open(ctx)
	if problem != nil {
		p.unread(t, problem)
		return
	}
	node, invalid := nodeInfo(found)
	t.Status.NodeInfo = node
	t.Status.CapacitySource = &infrav1.CapacitySource{Source: infrav1.CapacitySourceImage, Image: t.Spec.Template.Spec.Source.Image}
	if len(t.Spec.Capacity) > 0 {
		t.Status.Capacity, t.Status.CapacitySource.Source = t.Spec.Capacity.DeepCopy(), infrav1.CapacitySourceSpec
		message := "spec.capacity is used"
		if len(invalid) > 0 {
			message += "; what the image says of the node is not: " + invalid.Error()
		}
		p.resolve(t, conditions.True(infrav1.CapacityResolvedReason, "%s", message))
		return
	}
	capacity, more := capacityOf(found)
	invalid = append(invalid, more...)
	t.Status.Capacity = capacity
	switch {
	case len(invalid) > 0:
		p.resolve(t, conditions.False(infrav1.CapacityLabelInvalidReason, "%s", invalid.Error()))
	case capacity == nil && node == nil:
		p.resolve(t, conditions.True(infrav1.CapacityNotDeclaredReason, "the image declares no capacity; set spec.capacity to scale from zero"))
	case capacity == nil:
		p.resolve(t, conditions.True(infrav1.CapacityResolvedReason, "the image describes the node, and declares no capacity"))
	default:
		p.resolve(t, conditions.True(infrav1.CapacityResolvedReason, "the image declares it"))
	}
}

// settled tells that the image of now was read before and is not needed again: it would be, for its label, if spec.capacity
// had been taken away.
func settled(t *infrav1.TerraformMachineTemplate) bool {
	source := t.Status.CapacitySource
	if source == nil || source.Image != t.Spec.Template.Spec.Source.Image ||
		conditions.HasReason(t, infrav1.CapacityResolvedCondition, infrav1.ImageInspectFailedReason) {
		return false
	}
	if len(t.Spec.Capacity) == 0 {
		return source.Source == infrav1.CapacitySourceImage
	}
	return source.Source == infrav1.CapacitySourceSpec && equality.Semantic.DeepEqual(t.Spec.Capacity, t.Status.Capacity)
}

func (p *pass) resolve(t *infrav1.TerraformMachineTemplate, v conditions.Value) {
	conditions.Set(t, infrav1.CapacityResolvedCondition, v, p.clock().Now())
}

// unread is what is known without the image: spec.capacity, and what was known before.
func (p *pass) unread(t *infrav1.TerraformMachineTemplate, problem *inspect.Error) {
	if len(t.Spec.Capacity) == 0 {
		p.resolve(t, conditions.False(infrav1.ImageInspectFailedReason, "%s", problem.Error()))
		return
	}
	t.Status.Capacity = t.Spec.Capacity.DeepCopy()
	t.Status.CapacitySource = &infrav1.CapacitySource{Source: infrav1.CapacitySourceSpec}
	p.resolve(t, conditions.True(infrav1.CapacityResolvedReason, "spec.capacity is used; the image was not inspected: %s", problem.Error()))
}

// nodeInfo reads the label of the image, nil without one or with an invalid one.
func nodeInfo(found *inspect.Image) (*infrav1.NodeInfo, contract.Violations) {
	label, ok := found.Labels[string(image.LabelNodeInfo)]
	if !ok {
		return nil, nil
	}
	info, violations := image.ParseNodeInfo(label)
	if len(violations) > 0 {
		return nil, violations
	}
	return &infrav1.NodeInfo{Architecture: info.Architecture, OperatingSystem: info.OperatingSystem}, nil
}

// capacityOf reads the label of the image, nil without one or with an invalid one.
func capacityOf(found *inspect.Image) (corev1.ResourceList, contract.Violations) {
	label, ok := found.Labels[string(image.LabelCapacity)]
	if !ok {
		return nil, nil
	}
	capacity, violations := image.ParseCapacity(label)
	if len(violations) > 0 {
		return nil, violations
	}
	out := corev1.ResourceList{}
	for name, quantity := range capacity {
		out[corev1.ResourceName(name)] = quantity
	}
	return out, nil
}

// resolved describes what is known of the machines, and tells whether that changed.
func resolved(before, after *infrav1.TerraformMachineTemplateStatus) (string, bool) {
	if after.CapacitySource == nil ||
		equality.Semantic.DeepEqual(before.Capacity, after.Capacity) && equality.Semantic.DeepEqual(before.NodeInfo, after.NodeInfo) {
		return "", false
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(after.Capacity)) {
		quantity := after.Capacity[name]
		parts = append(parts, fmt.Sprintf("%s %s", name, quantity.String()))
	}
	if after.NodeInfo != nil {
		parts = append(parts, strings.TrimSpace(after.NodeInfo.OperatingSystem+" "+after.NodeInfo.Architecture))
	}
	if len(parts) == 0 {
		parts = []string{"nothing is known any more"}
	}
	return fmt.Sprintf("from %s: %s", strings.ToLower(string(after.CapacitySource.Source)), strings.Join(parts, ", ")), true
}
