// Package live reads management clusters for package move: from their API servers, page by page, with no verbs but get and
// list, and of Secrets and ConfigMaps nothing but the metadata.
//
// Not in this package: what is looked for.
package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // users log in as kubectl lets them
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/captf-toolkit/captf/sdk/move"
)

const (
	// page is how many objects are asked for at once.
	page = 500
	// timeout is for one page.
	timeout = time.Minute
	// qps and burst are far above those of a client of controllers, which spreads its requests: this one ends soon.
	qps, burst = 50, 100
)

// Kubeconfig says which management cluster to read. The zero value is what kubectl would use.
type Kubeconfig struct {
	// Path of the file; "" is the default of kubectl.
	Path string
	// Context in it; "" is the current one.
	Context string
}

// Config reads a kubeconfig. It also returns the namespace of the context.
func (k Kubeconfig) Config() (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = k.Path
	// Warnings about files that do not exist are for kubectl.
	rules.WarnIfAllMissing = false
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: k.Context})
	if config, err = loader.ClientConfig(); err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig%s: %w", k, err)
	}
	if namespace, _, err = loader.Namespace(); err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig%s: %w", k, err)
	}
	return config, namespace, nil
}

// String names the file and context for messages, each with a space before it.
func (k Kubeconfig) String() string {
	s := ""
	if k.Path != "" {
		s += " " + k.Path
	}
	if k.Context != "" {
		s += " with context " + k.Context
	}
	return s
}

// Reader reads a management cluster.
type Reader struct {
	objects  dynamic.Interface
	metadata metadata.Interface
}

var _ move.Reader = (*Reader)(nil)

// New returns a reader. The configuration is not changed.
func New(config *rest.Config, userAgent string) (*Reader, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.Timeout, config.UserAgent = qps, burst, timeout, userAgent
	config.WarningHandler = rest.NoWarnings{} // about versions, which are the source's to choose
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &Reader{objects: objects, metadata: meta}, nil
}

// List implements [move.Reader].
func (r *Reader) List(ctx context.Context, q move.Query, each func(*unstructured.Unstructured) error) error {
	o := metav1.ListOptions{Limit: page}
	for {
		items, next, err := r.list(ctx, q, o)
		switch {
		case apierrors.IsNotFound(err):
			return nil // not served
		case apierrors.IsResourceExpired(err) && o.Continue != "":
			// Reading took longer than the server remembers. It offers to go on with what there is now.
			var status apierrors.APIStatus
			if !errors.As(err, &status) || status.Status().Continue == "" || status.Status().Continue == o.Continue {
				return err
			}
			o.Continue = status.Status().Continue
			continue
		case err != nil:
			return err
		}
		for _, item := range items {
			if err := each(item); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		o.Continue = next
	}
}

// list reads a page.
func (r *Reader) list(ctx context.Context, q move.Query, o metav1.ListOptions) (items []*unstructured.Unstructured, next string, err error) {
	if !q.Metadata {
		list, err := r.objects.Resource(q.Resource.GVR()).Namespace(q.Namespace).List(ctx, o)
		if err != nil {
			return nil, "", err
		}
		for i := range list.Items {
			items = append(items, slim(&list.Items[i]))
		}
		return items, list.GetContinue(), nil
	}
	list, err := r.metadata.Resource(q.Resource.GVR()).Namespace(q.Namespace).List(ctx, o)
	if err != nil {
		return nil, "", err
	}
	for i := range list.Items {
		item, err := bare(&list.Items[i])
		if err != nil {
			return nil, "", err
		}
		items = append(items, item)
	}
	return items, list.GetContinue(), nil
}

// Get implements [move.Reader].
func (r *Reader) Get(ctx context.Context, q move.Query, name string) (*unstructured.Unstructured, error) {
	var o *unstructured.Unstructured
	var err error
	if q.Metadata {
		var m *metav1.PartialObjectMetadata
		if m, err = r.metadata.Resource(q.Resource.GVR()).Namespace(q.Namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			o, err = bare(m)
		}
	} else if o, err = r.objects.Resource(q.Resource.GVR()).Namespace(q.Namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
		o = slim(o)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return o, nil
}

// slim leaves out what nobody looks at and what is half of an object.
func slim(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetManagedFields(nil)
	return o
}

// bare is the metadata of an object as an object.
func bare(m *metav1.PartialObjectMetadata) (*unstructured.Unstructured, error) {
	m.ManagedFields = nil
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of %s: %w", m.Name, err)
	}
	return &unstructured.Unstructured{Object: fields}, nil
}
