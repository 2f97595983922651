package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// stateIndex finds the metadata of Secrets by the suffix of the state that they are part of, or a backup of.
const stateIndex = "captf.state"

// stateKeys are the values of a Secret in stateIndex.
func stateKeys(obj client.Object) []string {
	labels := obj.GetLabels()
	switch {
	case labels[infrav1.LabelStateBackup] == "true":
		return []string{"backup/" + labels[infrav1.LabelStateBackup+"-suffix"]}
	case labels["tfstateSecretSuffix"] != "":
		return []string{"state/" + labels["tfstateSecretSuffix"]}
	}
	return nil
}

// States reads states and remembers them, so that a state whose Secrets did not change is read once. It is shared by all
// controllers of a manager: machines and pools read their cluster's.
type States struct {
	// Store reads live.
	Store *state.Store
	// Metas reads the cached metadata of Secrets.
	Metas client.Reader

	mu sync.Mutex
	of map[client.ObjectKey]remembered
}

// remembered is what was read at one version of the Secrets: a state, or why there is none.
type remembered struct {
	version string
	state   *state.State
	err     error
}

// Read returns the state as the cache knows its Secrets. The error is state.ErrNotFound, a *state.Unreadable, or that of a
// read that failed and is not remembered.
func (s *States) Read(ctx context.Context, k state.Key) (*state.State, error) {
	r, err := s.read(ctx, k)
	if err != nil {
		return nil, err
	}
	return r.state, r.err
}

func (s *States) read(ctx context.Context, k state.Key) (remembered, error) {
	version, err := s.version(ctx, k)
	if err != nil {
		return remembered{}, err
	}
	key := client.ObjectKey{Namespace: k.Namespace, Name: k.Suffix}
	s.mu.Lock()
	known, ok := s.of[key]
	s.mu.Unlock()
	if ok && known.version == version {
		return known, nil
	}
	fresh, err := s.fresh(ctx, k)
	if err != nil {
		return remembered{}, err
	}
	fresh.version = version
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[client.ObjectKey]remembered{}
	}
	s.of[key] = fresh
	return fresh, nil
}

// fresh reads live and remembers nothing.
func (s *States) fresh(ctx context.Context, k state.Key) (remembered, error) {
	st, err := s.Store.Read(ctx, k)
	var unreadable *state.Unreadable
	if err != nil && !errors.Is(err, state.ErrNotFound) && !errors.As(err, &unreadable) {
		return remembered{}, fmt.Errorf("reading state %s/%s: %w", k.Namespace, k.Suffix, err)
	}
	return remembered{state: st, err: err}, nil
}

// version identifies the Secrets of a state as the cache knows them, "" for none.
func (s *States) version(ctx context.Context, k state.Key) (string, error) {
	metas, err := s.metas(ctx, k.Namespace, "state/"+k.Suffix)
	if err != nil {
		return "", err
	}
	versions := make([]string, 0, len(metas))
	for _, m := range metas {
		versions = append(versions, string(m.UID)+"/"+m.ResourceVersion)
	}
	slices.Sort(versions)
	return strings.Join(versions, " "), nil
}

// backups are the backups of the state that the cache knows, the newest first, complete or not.
func (s *States) backups(ctx context.Context, k state.Key) ([]state.Backup, error) {
	metas, err := s.metas(ctx, k.Namespace, "backup/"+k.Suffix)
	return state.Gather(metas), err
}

// unowned tells whether the cache knows a Secret of the state or of a backup that the object does not own.
func (s *States) unowned(ctx context.Context, k state.Key, owner metav1.Object) (bool, error) {
	for _, kind := range []string{"state/", "backup/"} {
		metas, err := s.metas(ctx, k.Namespace, kind+k.Suffix)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(metas, func(m metav1.PartialObjectMetadata) bool { return !ownedBy(m, owner) }) {
			return true, nil
		}
	}
	return false, nil
}

func (s *States) metas(ctx context.Context, namespace, indexed string) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := s.Metas.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{stateIndex: indexed}); err != nil {
		return nil, fmt.Errorf("listing secrets %s of namespace %s from the cache: %w", indexed, namespace, err)
	}
	return list.Items, nil
}

// Forget drops what is remembered of a state.
func (s *States) Forget(k state.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, client.ObjectKey{Namespace: k.Namespace, Name: k.Suffix})
}
