package broker

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Pausable is an object of the run's namespace that may be paused: that of the run, and its Cluster.
type Pausable struct{ Kind, Name string }

// pausables are the kinds of Pausable.
var pausables = map[string]schema.GroupVersionKind{
	"Cluster":              clusterv1.GroupVersion.WithKind("Cluster"),
	"TerraformCluster":     infrav1.GroupVersion.WithKind("TerraformCluster"),
	"TerraformMachine":     infrav1.GroupVersion.WithKind("TerraformMachine"),
	"TerraformMachinePool": infrav1.GroupVersion.WithKind("TerraformMachinePool"),
}

// ParsePausable reads KIND/NAME.
func ParsePausable(text string) (Pausable, error) {
	kind, name, ok := strings.Cut(text, "/")
	if _, known := pausables[kind]; !ok || !known || name == "" {
		return Pausable{}, fmt.Errorf("reading %q: it is not of the form KIND/NAME, with a Cluster or a kind that runs modules", text)
	}
	return Pausable{Kind: kind, Name: name}, nil
}

// getStart says whether the run may begin: not while its object or its Cluster is paused (B-896). clusterctl pauses Clusters
// before it moves them, and waits only for Jobs that were there when it looked.
func (s *Server) getStart(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := call(r)
	defer cancel()
	paused, err := s.paused(ctx)
	switch {
	case err != nil:
		http.Error(w, err.Error(), status(err))
	case paused != nil:
		http.Error(w, fmt.Sprintf("%s %s is paused", paused.Kind, paused.Name), http.StatusConflict)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// paused is what is paused, nil for nothing. What is gone is not, and neither is what may not be read: the manager has looked
// as well, and a ServiceAccount with fewer rights keeps working.
func (s *Server) paused(ctx context.Context) (*Pausable, error) {
	for _, of := range s.PausedBy {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(pausables[of.Kind])
		err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Key.Namespace, Name: of.Name}, o)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case apierrors.IsForbidden(err):
			s.Log.Warn("whether it is paused may not be read", "kind", of.Kind, "name", of.Name)
			continue
		case err != nil:
			return nil, fmt.Errorf("reading whether %s %s is paused: %w", of.Kind, of.Name, err)
		}
		_, annotated := o.GetAnnotations()[clusterv1.PausedAnnotation]
		paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
		if annotated || of.Kind == "Cluster" && paused {
			return &of, nil
		}
	}
	return nil, nil
}
