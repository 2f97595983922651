package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/inspect"
	"github.com/captf-toolkit/captf/provider/internal/job"
)

// workspace is the shared part of one object under review.
type workspace struct {
	role contract.Role
	// at is the path of the spec.
	at            *field.Path
	before, after *infrav1.WorkspaceSpec
	// deleting tells that the object is being deleted. Its Job settings are then taken as they are, so that nothing keeps
	// it from being destroyed.
	deleting bool
	// template tells that what is missing may be added by a patch of a ClusterClass.
	template bool
}

// workspace checks what TerraformCluster, TerraformMachine and TerraformMachinePool share (provider-api.md 2).
func (o Options) workspace(ctx context.Context, r *review, w workspace) {
	if w.before.Source.Image != w.after.Source.Image {
		r.deny(checkImage(w.at.Child("source", "image"), w.after.Source.Image)...)
	}
	checkIdentityRef(r, w.at.Child("identityRef"), w.before.IdentityRef, w.after.IdentityRef)
	checkJobs(r, w.at.Child("jobs"), w.before.Jobs, w.after.Jobs, w.deleting)
	clean := checkVariables(r, w)
	if changed(w.before.VariablesFrom, w.after.VariablesFrom) {
		r.deny(checkVariablesFrom(w.at.Child("variablesFrom"), w.after.VariablesFrom)...)
	}
	if clean {
		o.checkSchema(ctx, r, w)
	}
}

// checkImage checks the syntax of a reference; neither registry nor image is asked.
func checkImage(at *field.Path, image string) field.ErrorList {
	var why string
	_, err := name.ParseReference(image)
	_, lower := name.ParseReference(strings.ToLower(image))
	switch {
	case strings.Contains(image, "://"): // the library takes what is before the colon for a registry
		why = "a reference has no scheme"
	case strings.HasPrefix(image, ".") || strings.HasPrefix(image, "/"):
		why = "a reference is not a path"
	case err == nil:
		return nil
	case lower == nil:
		why = "the name of a repository has lower-case letters only"
	default:
		why = "it is not an image reference"
	}
	return field.ErrorList{field.Invalid(at, image,
		why+"; write registry/repository:tag or registry/repository@sha256:… with 64 hexadecimal digits")}
}

// checkIdentityRef checks that the name could be that of an object. The object itself is not looked up, so that the order
// of creation does not matter.
func checkIdentityRef(r *review, at *field.Path, before, after *infrav1.IdentityReference) {
	if after == nil || !changed(before, after) {
		return
	}
	for _, why := range apivalidation.NameIsDNSSubdomain(after.Name, false) {
		r.deny(field.Invalid(at.Child("name"), after.Name, why))
	}
}

// checkJobs checks one policy by itself; what it becomes when merged with that of a cluster is checked before a Job
// (B-252, B-253).
func checkJobs(r *review, at *field.Path, before, after *infrav1.JobPolicy, deleting bool) {
	if after == nil || deleting || !changed(before, after) {
		return
	}
	r.deny(job.ValidatePolicy(after, at)...)
}

// checkVariables checks names and values of the inline variables, and tells that there is nothing wrong with them. No
// message holds a value.
func checkVariables(r *review, w workspace) bool {
	if sameVariables(w.before.Variables, w.after.Variables) {
		return true
	}
	spec := versions.Default().Spec(w.role)
	var found contract.Violations
	for _, key := range slices.Sorted(maps.Keys(w.after.Variables)) {
		_, vs := contract.ParseVariables(spec, []contract.Variable{{Name: key, Value: rawVariable(w.after.Variables[key])}})
		found = append(found, vs...)
	}
	for _, v := range found {
		r.deny(violation(w.at, v))
	}
	return len(found) == 0
}

// violation is a violation of the contract as a field error; its path starts with variables.
func violation(at *field.Path, v contract.Violation) *field.Error {
	return invalid(at.Child(v.Path), "%s", v.Message)
}

// rawVariable is a variable as JSON. The API machinery reads null as nothing.
func rawVariable(v apiextensionsv1.JSON) json.RawMessage {
	if len(v.Raw) == 0 {
		return json.RawMessage("null")
	}
	return v.Raw
}

// sameVariables compares by value: the order of keys and white space mean nothing.
func sameVariables(before, after map[string]apiextensionsv1.JSON) bool {
	return maps.EqualFunc(before, after, func(a, b apiextensionsv1.JSON) bool {
		return bytes.Equal(a.Raw, b.Raw) || reflect.DeepEqual(value(a), value(b))
	})
}

func value(v apiextensionsv1.JSON) any {
	decoder := json.NewDecoder(bytes.NewReader(rawVariable(v)))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		return err // never happens with what the API server sent; two errors are then different
	}
	return out
}

func checkVariablesFrom(at *field.Path, sources []infrav1.VariablesSource) field.ErrorList {
	var wrong field.ErrorList
	for i, source := range sources {
		if (source.ConfigMapRef == nil) == (source.SecretRef == nil) {
			wrong = append(wrong, invalid(at.Index(i), "set exactly one of configMapRef and secretRef"))
		}
	}
	return wrong
}

// checkSchema checks the variables against the schema that the image publishes (B-319). It is a service to who writes the
// object: whatever keeps the schema from being read lets the object pass, because the controller checks again.
func (o Options) checkSchema(ctx context.Context, r *review, w workspace) {
	if o.Schemas == nil || w.deleting || len(r.wrong) > 0 {
		return
	}
	if w.before.Source.Image == w.after.Source.Image && sameVariables(w.before.Variables, w.after.Variables) {
		return
	}
	var secrets []corev1.LocalObjectReference
	if w.after.Jobs != nil {
		secrets = w.after.Jobs.ImagePullSecrets
	}
	ctx, cancel := context.WithTimeout(ctx, inspect.AdmissionTimeout)
	defer cancel()
	schema, _, err := o.Schemas.VariablesSchema(ctx, r.request.Namespace, secrets, w.after.Source.Image)
	if err != nil || schema == nil {
		return
	}
	variables := map[string]json.RawMessage{}
	for key, v := range w.after.Variables {
		variables[key] = rawVariable(v)
	}
	for _, v := range schema.Validate(variables) {
		if v.Rule == contract.RuleRequired && !strings.Contains(strings.TrimPrefix(v.Path, "variables."), ".") && len(w.after.VariablesFrom) > 0 {
			continue // may come from a source, which only the controller reads
		}
		if w.template {
			r.warn("%s.%s %s, says the module image; a patch must put that right", w.at, v.Path, v.Message)
			continue
		}
		r.deny(violation(w.at, contract.Violation{Path: v.Path, Message: fmt.Sprintf("%s, says the module image", v.Message)}))
	}
}
