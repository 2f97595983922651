package credentials

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// absence is how long it is remembered that something is missing: long enough for the objects of one burst, shorter than
// any wait.
const absence = 2 * time.Second

// sourceKey is a Secret, as the source of an identity or as a local one.
type sourceKey struct {
	client.ObjectKey
	local bool
}

// facts are what is known of a Secret. They hold no value.
type facts struct {
	exists bool
	// keys and hash are those of an identity's source.
	keys map[string]bool
	hash string
	// legacy are the UIDs of identities that own the source, as an early version made them.
	legacy []types.UID
}

// missing returns the required keys that the Secret lacks, sorted. An empty value counts as present.
func (f facts) missing(required []string) []string {
	var out []string
	for _, key := range required {
		if !f.keys[key] {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// namespaceFacts are what is known of a Namespace.
type namespaceFacts struct {
	exists bool
	labels labels.Set
}

// verdict is whether an object may use what it names.
type verdict struct {
	allowed conditions.Value
	denied  Denial
	// ref is what the object names; empty if nothing.
	ref infrav1.IdentityReference
	// source is the Secret of an identity that was allowed, facts what is known of it.
	source client.ObjectKey
	facts  facts
	// revoke tells that the namespace may not have a mirror of the identity.
	revoke bool
}

func (v verdict) local() bool { return v.ref.Kind == infrav1.IdentityKindSecret }

// secretName is the Secret for the Job.
func (v verdict) secretName() string {
	if v.local() {
		return v.ref.Name
	}
	return names.Mirror(v.ref.Name)
}

// check decides IdentityAllowed (B-507). The verdict is valid with an error too.
func (p *pass) check(ctx context.Context) (verdict, error) {
	ref := p.Identity
	if ref == nil {
		ref = IdentityRef(p.Object, p.Cluster)
	}
	if ref == nil || ref.Name == "" {
		return verdict{denied: DenialNotFound, allowed: conditions.False(infrav1.IdentityNotFoundReason,
			"no identity is named: set spec.identityRef, or spec.defaults.identityRef or spec.identityRef of the TerraformCluster")}, nil
	}
	p.result.Identity = *ref
	if p.result.Identity.Kind == "" {
		p.result.Identity.Kind = infrav1.IdentityKindClusterIdentity
	}
	v := verdict{ref: p.result.Identity}
	var err error
	if v.local() {
		err = p.checkLocal(ctx, &v)
	} else {
		err = p.checkIdentity(ctx, &v)
	}
	if err != nil {
		v.allowed = conditions.Unknown(infrav1.IdentityCheckFailedReason,
			"%s %q could not be checked: %s", v.ref.Kind, v.ref.Name, apiText(err))
		return v, fmt.Errorf("checking %s %s: %w", v.ref.Kind, v.ref.Name, err)
	}
	return v, nil
}

// checkLocal looks whether a Secret of the object's own namespace exists (B-506).
func (p *pass) checkLocal(ctx context.Context, v *verdict) error {
	found, err := p.localSecret(ctx, client.ObjectKey{Namespace: p.namespace, Name: v.ref.Name}, p.Live)
	if err != nil {
		return err
	}
	if !found.exists {
		v.denied = DenialNotFound
		v.allowed = conditions.False(infrav1.SecretNotFoundReason, "Secret %s/%s does not exist; create it with the credentials", p.namespace, v.ref.Name)
		return nil
	}
	v.allowed = conditions.True(infrav1.LocalSecretReason,
		"Secret %q of the namespace is used", v.ref.Name)
	return nil
}

// checkIdentity looks whether an identity exists, allows the namespace, and has its credentials (B-501, B-507). What would
// deny it is read again from the API server before it counts, because a denial removes the mirror.
func (p *pass) checkIdentity(ctx context.Context, v *verdict) error {
	identity, err := p.identity(ctx, v.ref.Name, p.Live)
	if err != nil {
		return err
	}
	if identity == nil {
		v.revoke, v.denied = true, DenialNotFound
		v.allowed = conditions.False(infrav1.IdentityNotFoundReason, "TerraformClusterIdentity %q does not exist", v.ref.Name)
		return nil
	}
	age := p.syncPeriod
	if p.Live {
		age = 0
	}
	why, err := p.allows(ctx, identity, p.namespace, age)
	if err == nil && why != "" && !p.Live {
		if identity, err = p.identity(ctx, v.ref.Name, true); err != nil || identity == nil {
			return fmt.Errorf("reading it again: it changed meanwhile (%w)", orGone(err))
		}
		why, err = p.allows(ctx, identity, p.namespace, 0)
	}
	if err != nil {
		return err
	}
	if why != "" {
		v.revoke, v.denied = true, DenialNamespace
		v.allowed = conditions.False(infrav1.NamespaceNotAllowedReason, "TerraformClusterIdentity %q does not allow namespace %q: %s", v.ref.Name, p.namespace, why)
		return nil
	}
	source, ok := SourceOf(identity)
	if ok {
		v.source = source
		if v.facts, err = p.sourceSecret(ctx, source, age); err != nil {
			return err
		}
	}
	switch lacks := v.facts.missing(identity.Spec.RequiredKeys); {
	case !v.facts.exists:
		v.denied = DenialNotFound
		v.allowed = conditions.False(infrav1.SecretNotFoundReason, "the Secret of TerraformClusterIdentity %q does not exist; the identity's Ready condition names it", v.ref.Name)
	case len(lacks) > 0:
		v.denied = DenialIncomplete
		v.allowed = conditions.False(infrav1.CredentialsIncompleteReason, "the Secret of TerraformClusterIdentity %q lacks the required keys %s", v.ref.Name, strings.Join(lacks, ", "))
	default:
		v.allowed = conditions.True(infrav1.IdentityAllowedReason,
			"TerraformClusterIdentity %q allows the namespace", v.ref.Name)
	}
	return nil
}

// orGone is an error that is not nil.
func orGone(err error) error {
	if err == nil {
		return errGone
	}
	return err
}

// SourceOf returns the Secret of an identity.
func SourceOf(identity *infrav1.TerraformClusterIdentity) (client.ObjectKey, bool) {
	ref := identity.Spec.SecretRef
	if ref == nil || ref.Name == "" || ref.Namespace == "" {
		return client.ObjectKey{}, false
	}
	return client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, true
}

// identity returns an identity, nil if the API server has none.
func (c *Credentials) identity(ctx context.Context, name string, live bool) (*infrav1.TerraformClusterIdentity, error) {
	identity := &infrav1.TerraformClusterIdentity{}
	key := client.ObjectKey{Name: name}
	if !live {
		err := c.client.Get(ctx, key, identity)
		if err == nil {
			return identity, nil
		}
		if !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	switch err := c.live.Get(ctx, key, identity); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return identity, nil
}

// allows returns why an identity does not allow a namespace, or nothing. Labels that were read at most age ago count.
func (c *Credentials) allows(ctx context.Context, identity *infrav1.TerraformClusterIdentity, namespace string, age time.Duration) (string, error) {
	allowed := identity.Spec.AllowedNamespaces
	if allowed == nil {
		return "spec.allowedNamespaces is unset, which allows none", nil
	}
	if slices.Contains(allowed.List, namespace) {
		return "", nil
	}
	if allowed.Selector == nil {
		return "it is not in spec.allowedNamespaces.list", nil
	}
	selector, err := metav1.LabelSelectorAsSelector(allowed.Selector)
	if err != nil {
		return "spec.allowedNamespaces.selector is invalid", nil //nolint:nilerr // An invalid selector denies (B-501).
	}
	if selector.Empty() {
		return "", nil
	}
	found, err := c.namespaceLabels(ctx, namespace, age)
	if err != nil {
		return "", err
	}
	switch {
	case !found.exists:
		return "the Namespace does not exist", nil
	case !selector.Matches(found.labels):
		return "its labels do not match spec.allowedNamespaces.selector", nil
	}
	return "", nil
}

func (c *Credentials) namespaceLabels(ctx context.Context, name string, age time.Duration) (namespaceFacts, error) {
	if known, ok := c.namespaces.get(name, age); ok {
		return known, nil
	}
	at := c.clock.Now()
	namespace := metadataOf(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := c.live.Get(ctx, client.ObjectKey{Name: name}, namespace)
	if client.IgnoreNotFound(err) != nil {
		return namespaceFacts{}, fmt.Errorf("reading Namespace %s: %w", name, err)
	}
	found := namespaceFacts{exists: err == nil, labels: maps.Clone(namespace.Labels)}
	if found.exists {
		c.namespaces.put(name, found, at)
	}
	return found, nil
}

// localSecret tells whether a Secret of a user's namespace exists.
func (c *Credentials) localSecret(ctx context.Context, key client.ObjectKey, live bool) (facts, error) {
	id := sourceKey{ObjectKey: key, local: true}
	if known, ok := c.knownSource(id, c.syncPeriod); ok && !live {
		return known, nil
	}
	at := c.clock.Now()
	err := c.live.Get(ctx, key, metadataOf(secretKind))
	if client.IgnoreNotFound(err) != nil {
		return facts{}, fmt.Errorf("reading Secret %s: %w", key, err)
	}
	found := facts{exists: err == nil}
	c.sources.put(id, found, at)
	return found, nil
}

// sourceSecret returns the facts of an identity's Secret that were read at most age ago.
func (c *Credentials) sourceSecret(ctx context.Context, key client.ObjectKey, age time.Duration) (facts, error) {
	if known, ok := c.knownSource(sourceKey{ObjectKey: key}, age); ok {
		return known, nil
	}
	_, found, err := c.readSource(ctx, key)
	return found, err
}

// knownSource is what is remembered of a Secret; what is missing is looked for again soon.
func (c *Credentials) knownSource(id sourceKey, age time.Duration) (facts, bool) {
	known, ok := c.sources.get(id, age)
	if ok && !known.exists {
		return c.sources.get(id, min(age, absence))
	}
	return known, ok
}

// readSource reads an identity's Secret and remembers its facts. The Secret is nil if there is none.
func (c *Credentials) readSource(ctx context.Context, key client.ObjectKey) (*corev1.Secret, facts, error) {
	at := c.clock.Now()
	secret := &corev1.Secret{}
	switch err := c.live.Get(ctx, key, secret); {
	case apierrors.IsNotFound(err):
		c.sources.put(sourceKey{ObjectKey: key}, facts{}, at)
		return nil, facts{}, nil
	case err != nil:
		return nil, facts{}, fmt.Errorf("reading Secret %s: %w", key, err)
	}
	found := facts{exists: true, hash: SourceHash(secret.Data), keys: make(map[string]bool, len(secret.Data))}
	for name := range secret.Data {
		found.keys[name] = true
	}
	for _, ref := range secret.OwnerReferences {
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err == nil && gv.Group == infrav1.GroupVersion.Group && ref.Kind == identityKind {
			found.legacy = append(found.legacy, ref.UID)
		}
	}
	c.sources.put(sourceKey{ObjectKey: key}, found, at)
	return secret, found, nil
}

// apiText is the reason of an error of the API server, which is stable from try to try, unlike its text.
func apiText(err error) string {
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return "the API server answered " + string(reason)
	}
	return "the API server did not answer"
}
