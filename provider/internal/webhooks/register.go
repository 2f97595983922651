package webhooks

import (
	"context"
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/captf-toolkit/captf/contract/image"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Options are what admission works with.
type Options struct {
	// Scheme knows the provider's kinds, Cluster API's core kinds and authorization.k8s.io/v1.
	Scheme *runtime.Scheme
	// Client makes SubjectAccessReviews.
	Client client.Writer
	// Live reads from the API server: admission is for all namespaces, whichever the manager's cache holds.
	Live client.Reader
	// Manager is the user name of the manager's own ServiceAccount (ManagerName). Empty, nobody is the manager, and its
	// own writes of provider ids are refused.
	Manager string
	// Schemas gives the variables' schema of a module image. It may be nil: variables are then checked by the controllers
	// alone.
	Schemas Schemas
}

// Schemas gives the schema of the variables that a module image publishes, for the check of B-319. It is what
// inspect.Inspector does.
type Schemas interface {
	// VariablesSchema returns the schema in the image's label, nil without an error if it has none, and the image's digest.
	// The pull secrets are of the namespace. It answers within the deadline of ctx.
	VariablesSchema(ctx context.Context, namespace string, pullSecrets []corev1.LocalObjectReference, ref string) (*image.Schema, string, error)
}

// ManagerName is the user name of the manager: that of the ServiceAccount in the namespace, empty if either is unknown
// (provider-api.md 10).
func ManagerName(namespace, serviceAccount string) string {
	if namespace == "" || serviceAccount == "" {
		return ""
	}
	return "system:serviceaccount:" + namespace + ":" + serviceAccount
}

// Server is what webhooks are registered with: the webhook.Server of a manager.
type Server interface {
	Register(path string, hook http.Handler)
}

// Register serves the webhooks of all kinds at their paths.
func Register(server Server, opts Options) error {
	switch {
	case opts.Scheme == nil:
		return errors.New("registering webhooks: no scheme is given")
	case opts.Client == nil || opts.Live == nil:
		return errors.New("registering webhooks: no client is given")
	}
	serve(server, opts, "TerraformCluster", opts.cluster)
	serve(server, opts, "TerraformClusterTemplate", opts.clusterTemplate)
	serve(server, opts, "TerraformMachine", opts.machine)
	serve(server, opts, "TerraformMachineTemplate", opts.machineTemplate)
	serve(server, opts, "TerraformMachinePool", opts.pool)
	serve(server, opts, "TerraformMachinePoolTemplate", opts.poolTemplate)
	serve(server, opts, "TerraformClusterIdentity", opts.identity)
	serve(server, opts, "TerraformPlan", opts.plan)
	return nil
}

// Path is where the webhook of a kind is served.
func Path(kind string) string {
	group := strings.ReplaceAll(infrav1.GroupVersion.Group, ".", "-")
	return "/validate-" + group + "-" + infrav1.GroupVersion.Version + "-" + strings.ToLower(kind)
}

// object is a pointer to a kind's struct.
type object[S any] interface {
	*S
	client.Object
}

func serve[S any, T object[S]](server Server, opts Options, kind string, check func(context.Context, *review, T, T)) {
	server.Register(Path(kind), &admission.Webhook{Handler: &handler[S, T]{
		kind:  metav1.GroupVersionKind{Group: infrav1.GroupVersion.Group, Version: infrav1.GroupVersion.Version, Kind: kind},
		check: check, decoder: admission.NewDecoder(opts.Scheme),
	}})
}
