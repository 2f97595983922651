package webhooks

import (
	"encoding/json"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// laterField is a field of a spec that is accepted and kept, and that this release does not act on. Whoever makes it work
// deletes its row.
type laterField struct {
	// path below the spec.
	path string
	// value that is not acted on.
	value any
	// instead says what happens now.
	instead string
}

var laterFields = []laterField{
	{"applyPolicy", string(infrav1.ApplyPolicyManual), "applies do not wait for approval"},
	{"drift.action", string(infrav1.DriftActionRemediate), "drift is only reported"},
	{"defaults.drift.action", string(infrav1.DriftActionRemediate), "drift is only reported"},
	{"deletionPolicy", string(infrav1.DeletionPolicyRetain), "a deletion destroys nothing and waits until the policy is Destroy"},
	{"defaults.deletionPolicy", string(infrav1.DeletionPolicyRetain), "a deletion destroys nothing and waits until the policy is Destroy"},
	{"adoptRetainedState", true, "no state is adopted"},
	{"approved", true, "no plan is applied"},
}

// laterAnnotations are annotations of objects that run a module, as laterFields.
var laterAnnotations = []struct{ key, instead string }{
	{infrav1.AnnotationRestoreState, "no backup is restored"},
	{infrav1.AnnotationApproveDestructivePlan, "no plan is approved"},
	{infrav1.AnnotationApprovePlan, "no plan is approved"},
	{infrav1.AnnotationAbandonInfrastructure, "a deletion goes on as without it"},
}

// warnLater says which parts of a request are kept without effect: those that it sets or changes.
func warnLater(r *review, at *field.Path, before, after client.Object) {
	old, now := tree(before), tree(after)
	for _, row := range laterFields {
		path := at.String() + "." + row.path
		if value := lookUp(now, path); value == row.value && lookUp(old, path) != value {
			r.warn("%s: %v is kept, but this release does not act on it: %s", path, row.value, row.instead)
		}
	}
	for _, row := range laterAnnotations {
		value, set := after.GetAnnotations()[row.key]
		if was, had := before.GetAnnotations()[row.key]; set && (!had || was != value) {
			r.warn("annotation %s is kept, but this release does not act on it: %s", row.key, row.instead)
		}
	}
}

// tree is what was decoded from JSON as JSON again, so it can be encoded.
func tree(object any) any {
	raw, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return value(apiextensionsv1.JSON{Raw: raw})
}

func lookUp(node any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		object, _ := node.(map[string]any)
		node = object[key]
	}
	return node
}
