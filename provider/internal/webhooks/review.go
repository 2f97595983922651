package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// handler answers the requests of one kind.
type handler[S any, T object[S]] struct {
	kind metav1.GroupVersionKind
	// check is given the object before and after the request. The former is nil on create, the latter on delete.
	check   func(ctx context.Context, r *review, before, after T)
	decoder admission.Decoder
}

// Handle implements admission.Handler.
func (h *handler[S, T]) Handle(ctx context.Context, request admission.Request) admission.Response {
	var before, after T
	if request.Operation == admissionv1.Update || request.Operation == admissionv1.Delete {
		before = new(S)
		if err := h.decoder.DecodeRaw(request.OldObject, before); err != nil {
			return admission.Errored(http.StatusBadRequest, fmt.Errorf("reading the stored object: %w", err))
		}
	}
	if request.Operation == admissionv1.Update || request.Operation == admissionv1.Create {
		after = new(S)
		if err := h.decoder.DecodeRaw(request.Object, after); err != nil {
			return admission.Errored(http.StatusBadRequest, fmt.Errorf("reading the object: %w", err))
		}
	}
	if before == nil && after == nil {
		return admission.Allowed("")
	}
	r := &review{request: request}
	h.check(ctx, r, before, after)
	return r.response(h.kind)
}

// review collects what is found about one request.
type review struct {
	request admission.Request
	// wrong is what is wrong with the object, refused why it cannot be deleted.
	wrong   field.ErrorList
	refused []error
	// failed is why the request could not be judged.
	failed []error
	// warnings are shown to the user whatever the answer is.
	warnings []string
}

func (r *review) deny(errs ...*field.Error) { r.wrong = append(r.wrong, errs...) }
func (r *review) warn(format string, a ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, a...))
}
func (r *review) refuse(format string, a ...any) {
	r.refused = append(r.refused, fmt.Errorf(format, a...))
}
func (r *review) fail(format string, a ...any) { r.failed = append(r.failed, fmt.Errorf(format, a...)) }

// invalid is a denial that does not repeat the value, because it may be long or secret.
func invalid(at *field.Path, format string, a ...any) *field.Error {
	return field.Invalid(at, field.OmitValueType{}, fmt.Sprintf(format, a...))
}

// response is the answer. A request that could not be judged is refused: what was found otherwise could be incomplete.
func (r *review) response(kind metav1.GroupVersionKind) admission.Response {
	var status metav1.Status
	switch {
	case len(r.failed) > 0:
		status = apierrors.NewInternalError(errors.Join(r.failed...)).Status()
	case len(r.refused) > 0:
		resource := schema.GroupResource{Group: kind.Group, Resource: r.request.Resource.Resource}
		status = apierrors.NewForbidden(resource, r.request.Name, utilerrors.NewAggregate(r.refused)).Status()
	case len(r.wrong) > 0:
		status = apierrors.NewInvalid(schema.GroupKind{Group: kind.Group, Kind: kind.Kind}, r.request.Name, r.wrong).Status()
	default:
		return admission.Allowed("").WithWarnings(r.warnings...)
	}
	return admission.Response{
		AdmissionResponse: admissionv1.AdmissionResponse{Allowed: false, Result: &status},
	}.WithWarnings(r.warnings...)
}

// changed tells that a value differs from the one before. Empty and absent are equal, and so are quantities that are
// written differently. On create everything is compared with an empty object.
func changed[T any](before, after T) bool { return !apiequality.Semantic.DeepEqual(before, after) }
