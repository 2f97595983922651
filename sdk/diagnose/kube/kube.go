// Package kube reads a management cluster for sdk/diagnose: with the credentials of a kubeconfig, by discovery, in pages.
//
// Not in this package: what is read and what it means, and any write.
package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/captf-toolkit/captf/sdk/diagnose"
)

// page is how many objects are asked for at once.
const page = 500

// secrets are never read, whoever refers to one.
var secrets = []schema.GroupKind{{Kind: "Secret"}, {Kind: "SecretList"}}

// Options choose the cluster and who asks it.
type Options struct {
	// Kubeconfig is a file; "" is what kubectl takes: KUBECONFIG, then ~/.kube/config, then the pod that it runs in.
	Kubeconfig string
	// Context is one of the file's; "" is its current one.
	Context string
	// UserAgent names the program to the API server.
	UserAgent string
	// Timeout bounds each request; 0 is no limit.
	Timeout time.Duration
}

// Config reads the connection from a kubeconfig, and the namespace that it names.
func Config(o Options) (c *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context})
	if c, err = loader.ClientConfig(); err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if namespace, _, err = loader.Namespace(); err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	c.UserAgent, c.Timeout = o.UserAgent, o.Timeout
	c.WarningHandler = rest.NoWarnings{} // that a version is deprecated is not what was asked
	c.QPS, c.Burst = 50, 100             // some twenty lists; the default of the library spreads them over seconds
	return c, namespace, nil
}

// Reader reads any kind that the API server serves, but Secrets.
type Reader struct {
	client dynamic.Interface
	// kinds asks once which kinds there are. Groups whose server does not answer are left out: their kinds are not served.
	kinds func() (meta.RESTMapper, error)
}

// New connects to an API server.
func New(c *rest.Config) (*Reader, error) {
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", c.Host, err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", c.Host, err)
	}
	return &Reader{client: client, kinds: sync.OnceValues(func() (meta.RESTMapper, error) {
		groups, err := restmapper.GetAPIGroupResources(disco)
		if err != nil {
			return nil, fmt.Errorf("asking the API server which kinds it has: %w", err)
		}
		return restmapper.NewDiscoveryRESTMapper(groups), nil
	})}, nil
}

// List implements diagnose.Reader.
func (r *Reader) List(ctx context.Context, group, kind, namespace, selector string) ([]unstructured.Unstructured, error) {
	if slices.Contains(secrets, schema.GroupKind{Group: group, Kind: kind}) {
		return nil, diagnose.ErrSecret
	}
	mapper, err := r.kinds()
	if err != nil {
		return nil, err
	}
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	if err != nil {
		return nil, err
	}
	if mapping.Resource.GroupResource() == (schema.GroupResource{Resource: "secrets"}) {
		return nil, diagnose.ErrSecret
	}
	var resource dynamic.ResourceInterface = r.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if namespace == "" {
			return nil, errors.New("a namespace is needed for " + kind)
		}
		resource = r.client.Resource(mapping.Resource).Namespace(namespace)
	}
	var items []unstructured.Unstructured
	for next := ""; ; {
		list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: page, Continue: next})
		if err != nil {
			return nil, err // it says what was asked for
		}
		items = append(items, list.Items...)
		if next = list.GetContinue(); next == "" {
			return items, nil
		}
	}
}
