package state

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Store reads and writes states in an API server. It is safe for concurrent use, also with others in other processes.
type Store struct {
	// Writer writes Secrets and Leases.
	Writer client.Writer
	// Live reads them from the API server: a state from a cache may be an old one (B-405).
	Live client.Reader
	// Clock tells the time.
	Clock clock.PassiveClock

	partSize int // PartSize if 0; tests have smaller parts
}

// Read returns the current version of a state. The error is ErrNotFound if there is none, an *Unreadable if there are
// Secrets that hold none, else what the API server said.
func (s *Store) Read(ctx context.Context, k Key) (*State, error) {
	c, err := s.load(ctx, k)
	if err != nil {
		return nil, err
	}
	return c.state, nil
}

// Raw returns the current version as the file that a runtime would write, with what Read returns. It holds secrets.
func (s *Store) Raw(ctx context.Context, k Key) ([]byte, *State, error) {
	c, err := s.load(ctx, k)
	if err != nil {
		return nil, nil, err
	}
	return c.raw, c.state, nil
}

// load lists the Secrets of a state and puts them together.
func (s *Store) load(ctx context.Context, k Key) (*current, error) {
	o, err := s.objects(ctx, k)
	if err != nil {
		return nil, err
	}
	return assemble(k, o)
}

// objects lists the Secrets of a state, the staged ones too, in one request.
func (s *Store) objects(ctx context.Context, k Key) (objects, error) {
	in, err := labels.NewRequirement(labelState, selection.In, []string{stateTrue, stateStaged})
	if err != nil {
		return objects{}, err
	}
	selector := labels.SelectorFromSet(labels.Set{labelSuffix: k.Suffix, labelSpace: workspace}).Add(*in)
	var list corev1.SecretList
	if err := s.Live.List(ctx, &list, client.InNamespace(k.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return objects{}, fmt.Errorf("listing the Secrets of state %s/%s: %w", k.Namespace, k.Secret(0), err)
	}
	return sortOut(k, list.Items), nil
}
