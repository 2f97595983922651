// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
//
// The two markers are for controller-gen.

// Package v1alpha1 is the API of the CAPTF infrastructure provider: the kinds that a user writes, their fields, their
// conditions with reasons, and the labels and annotations that mean something to the provider.
//
// The Go types are the only source of the CRDs and of the API reference. Rules that one object alone can answer are
// markers and CEL here and hold without the webhook; rules that need the old object, the requester or another object are
// in provider/internal/webhooks. No field has a default in the schema: defaults are applied when an object is reconciled
// and never stored, so that a new release may change them for objects that never chose.
//
// Not in this package: what a module's inputs and outputs mean (contract), admission, controllers, and the names of
// objects that the provider keeps for itself (provider/internal/names).
package v1alpha1

//go:generate ../../../.ci/generate-api
//go:generate go run ./internal/docgen ../../config/crd/bases ../../../docs/reference/api.md
