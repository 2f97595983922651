package webhooks

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cluster-api/util/topology"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// spec is the path of an object's spec, templateSpec that of what a template makes.
var (
	spec         = field.NewPath("spec")
	templateSpec = field.NewPath("spec", "template", "spec")
)

func (o Options) cluster(ctx context.Context, r *review, before, after *infrav1.TerraformCluster) {
	if after == nil {
		return
	}
	if before == nil {
		before = &infrav1.TerraformCluster{}
	}
	o.clusterSpec(ctx, r, &before.Spec, &after.Spec, workspace{at: spec, deleting: deleting(after)})
	o.checkApproval(ctx, r, before, after)
	warnLater(r, spec, before, after)
}

func (o Options) clusterSpec(ctx context.Context, r *review, before, after *infrav1.TerraformClusterSpec, w workspace) {
	w.role, w.before, w.after = contract.RoleCluster, &before.WorkspaceSpec, &after.WorkspaceSpec
	o.workspace(ctx, r, w)
	if changed(before.ControlPlaneEndpoint, after.ControlPlaneEndpoint) && after.ControlPlaneEndpoint != nil &&
		!after.ControlPlaneEndpoint.Valid() {
		r.deny(invalid(w.at.Child("controlPlaneEndpoint"), "set host and port together, or neither"))
	}
	var old infrav1.ClusterDefaults
	if before.Defaults != nil {
		old = *before.Defaults
	}
	if after.Defaults != nil {
		at := w.at.Child("defaults")
		checkIdentityRef(r, at.Child("identityRef"), old.IdentityRef, after.Defaults.IdentityRef)
		checkJobs(r, at.Child("jobs"), old.Jobs, after.Defaults.Jobs, w.deleting)
	}
}

func (o Options) clusterTemplate(ctx context.Context, r *review, before, after *infrav1.TerraformClusterTemplate) {
	if after == nil {
		return
	}
	create := before == nil
	if create {
		before = &infrav1.TerraformClusterTemplate{}
	}
	old, template := &before.Spec.Template, &after.Spec.Template
	checkTemplate(r, create, after, old.ObjectMeta, template.ObjectMeta, !sameSpec(&old.Spec, &template.Spec))
	o.clusterSpec(ctx, r, &old.Spec, &template.Spec, workspace{at: templateSpec, deleting: deleting(after), template: true})
	if template.Spec.IdentityRef == nil && (create || old.Spec.IdentityRef != nil) {
		r.warn("%s is not set: clones are refused unless a patch of the ClusterClass sets it", templateSpec.Child("identityRef"))
	}
	warnLater(r, templateSpec, before, after)
}

func (o Options) machine(ctx context.Context, r *review, before, after *infrav1.TerraformMachine) {
	if after == nil {
		o.checkMachineDelete(ctx, r, before)
		return
	}
	create := before == nil
	if create {
		before = &infrav1.TerraformMachine{}
	}
	o.workspace(ctx, r, workspace{
		role: contract.RoleMachine, at: spec, before: &before.Spec.WorkspaceSpec, after: &after.Spec.WorkspaceSpec,
		deleting: deleting(after),
	})
	// A new object may bring one: clusterctl move makes it so.
	if !create && before.Spec.ProviderID != after.Spec.ProviderID && !o.manager(r) {
		r.deny(field.Forbidden(spec.Child("providerID"), "only the provider's manager writes it, from the module's output provider_id"))
	}
	warnLater(r, spec, before, after)
}

func (o Options) machineTemplate(ctx context.Context, r *review, before, after *infrav1.TerraformMachineTemplate) {
	if after == nil {
		return
	}
	create := before == nil
	if create {
		before = &infrav1.TerraformMachineTemplate{}
	}
	old, template := &before.Spec.Template, &after.Spec.Template
	checkTemplate(r, create, after, old.ObjectMeta, template.ObjectMeta, !sameSpec(&old.Spec, &template.Spec))
	o.workspace(ctx, r, workspace{
		role: contract.RoleMachine, at: templateSpec, before: &old.Spec.WorkspaceSpec, after: &template.Spec.WorkspaceSpec,
		deleting: deleting(after), template: true,
	})
	if template.Spec.ProviderID != "" && template.Spec.ProviderID != old.Spec.ProviderID {
		r.deny(field.Forbidden(templateSpec.Child("providerID"), "each machine gets its own; leave it out of a template"))
	}
	warnLater(r, templateSpec, before, after)
}

func (o Options) pool(ctx context.Context, r *review, before, after *infrav1.TerraformMachinePool) {
	if after == nil {
		return
	}
	if before == nil {
		before = &infrav1.TerraformMachinePool{}
	}
	o.workspace(ctx, r, workspace{
		role: contract.RoleMachinePool, at: spec, before: &before.Spec.WorkspaceSpec, after: &after.Spec.WorkspaceSpec,
		deleting: deleting(after),
	})
	warnLater(r, spec, before, after)
}

func (o Options) poolTemplate(ctx context.Context, r *review, before, after *infrav1.TerraformMachinePoolTemplate) {
	if after == nil {
		return
	}
	create := before == nil
	if create {
		before = &infrav1.TerraformMachinePoolTemplate{}
	}
	old, template := &before.Spec.Template, &after.Spec.Template
	checkTemplate(r, create, after, old.ObjectMeta, template.ObjectMeta, !sameSpec(&old.Spec, &template.Spec))
	o.workspace(ctx, r, workspace{
		role: contract.RoleMachinePool, at: templateSpec, before: &old.Spec.WorkspaceSpec, after: &template.Spec.WorkspaceSpec,
		deleting: deleting(after), template: true,
	})
	if create && template.Spec.ProviderID != "" {
		r.warn("%s means nothing in a template: each pool gets its own", templateSpec.Child("providerID"))
	}
	if create && len(template.Spec.ProviderIDList) > 0 {
		r.warn("%s means nothing in a template: each pool gets its own", templateSpec.Child("providerIDList"))
	}
	warnLater(r, templateSpec, before, after)
}

// checkTemplate checks what all templates have in common: the metadata of what they make, and that the spec of it stays.
// Cluster API's topology controller finds out by a dry run whether a template would change, and then makes a new one; that
// request passes.
func checkTemplate(r *review, create bool, template client.Object, before, after infrav1.TemplateMetadata, differs bool) {
	if changed(before, after) {
		r.deny(after.Validate(field.NewPath("spec", "template", "metadata"))...)
	}
	if !create && differs && !topology.IsDryRunRequest(r.request, template) {
		r.deny(field.Forbidden(templateSpec, "it is immutable: make a template of another name and refer to that one"))
	}
}

// manager tells that the request comes from the provider's manager.
func (o Options) manager(r *review) bool {
	return o.Manager != "" && r.request.UserInfo.Username == o.Manager
}

func deleting(o metav1.Object) bool { return !o.GetDeletionTimestamp().IsZero() }

// sameSpec compares two specs by what they say: variables by value, quantities by how they are written.
func sameSpec(before, after any) bool { return reflect.DeepEqual(tree(before), tree(after)) }
