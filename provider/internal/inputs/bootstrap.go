package inputs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Keys of a bootstrap Secret, by Cluster API's contract with bootstrap providers.
const (
	bootstrapValue  = "value"
	bootstrapFormat = "format"
)

// bootstrap reads the bootstrap Secret (B-046, B-280, B-281).
func (b *Builder) bootstrap(ctx context.Context, obj infrav1.Workspace, ownerKind, owner string, ref clusterv1.Bootstrap) (contract.Bootstrap, *Gate, error) {
	none := contract.Bootstrap{}
	if ref.DataSecretName == nil || *ref.DataSecretName == "" {
		return none, waiting(infrav1.WaitingForBootstrapDataReason,
			"waiting for the bootstrap provider to set the data Secret of %s %s/%s", ownerKind, obj.GetNamespace(), owner), nil
	}
	key := client.ObjectKey{Namespace: obj.GetNamespace(), Name: *ref.DataSecretName}
	var secret corev1.Secret
	if err := b.Live.Get(ctx, key, &secret); err != nil {
		if apierrors.IsNotFound(err) {
			return none, waiting(infrav1.WaitingForBootstrapDataReason,
				"waiting for the bootstrap Secret %s of %s %s, which does not exist", key, ownerKind, owner), nil
		}
		return none, nil, fmt.Errorf("reading the bootstrap Secret %s: %w", key, err)
	}
	data, ok := secret.Data[bootstrapValue]
	if !ok {
		return none, waiting(infrav1.WaitingForBootstrapDataReason,
			"waiting for the key %s of the bootstrap Secret %s of %s %s", bootstrapValue, key, ownerKind, owner), nil
	}
	out := contract.Bootstrap{Data: data, Format: string(secret.Data[bootstrapFormat])}
	if gate := b.checkFormat(obj.Role(), key, out.Format); gate != nil {
		return none, gate, nil
	}
	return out, nil, nil
}

// checkFormat finds a format that the contract does not have.
func (b *Builder) checkFormat(role contract.Role, key client.ObjectKey, format string) *Gate {
	if format == "" {
		return nil
	}
	row, _ := b.Contract.Spec(role).Input("bootstrap_format")
	vs := row.Shape.Validate("the format", format).Blocking()
	if len(vs) == 0 {
		return nil
	}
	return waiting(infrav1.WaitingForBootstrapDataReason,
		"waiting for bootstrap data that modules can be given: Secret %s: %s; use a bootstrap provider of that kind", key, messages(vs))
}
