package move

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is a kind of object as an API server serves it.
type Resource struct {
	Group, Version, Plural, Kind string
	Namespaced                   bool
}

// GVR names the resource for a client.
func (r Resource) GVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Plural}
}

// APIVersion is the apiVersion of its objects.
func (r Resource) APIVersion() string {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
}

// argument names the resource for kubectl.
func (r Resource) argument() string {
	if r.Group == "" {
		return r.Plural
	}
	return r.Plural + "." + r.Group
}

// The resources that every API server has.
var (
	crds            = Resource{Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition"}
	secrets         = Resource{Version: "v1", Plural: "secrets", Kind: "Secret", Namespaced: true}
	configMaps      = Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}
	serviceAccounts = Resource{Version: "v1", Plural: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true}
	namespaces      = Resource{Version: "v1", Plural: "namespaces", Kind: "Namespace"}
	jobs            = Resource{Group: "batch", Version: "v1", Plural: "jobs", Kind: "Job", Namespaced: true}
	leases          = Resource{Group: "coordination.k8s.io", Version: "v1", Plural: "leases", Kind: "Lease", Namespaced: true}
)

// Query says what to read of a resource.
type Query struct {
	Resource Resource
	// Namespace of the objects; "" is all namespaces, and right for what has none.
	Namespace string
	// Metadata asks for the metadata alone. A reader must not even fetch the rest.
	Metadata bool
}

// Reader reads objects of one management cluster. It may be used by one goroutine at a time.
type Reader interface {
	// List calls each with every object, page by page, and stops at its first error. A resource that is not served has
	// no objects.
	List(ctx context.Context, q Query, each func(*unstructured.Unstructured) error) error
	// Get returns an object, nil if there is none. The query's Namespace is the object's.
	Get(ctx context.Context, q Query, name string) (*unstructured.Unstructured, error)
}
