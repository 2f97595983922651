package workload

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AddToken makes a bootstrap token, as the kubeadm bootstrap provider does.
func (c *Cluster) AddToken(t *testing.T, token string) {
	t.Helper()
	id, text, _ := strings.Cut(token, ".")
	if err := c.create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + id},
		Data:       map[string][]byte{"token-id": []byte(id), "token-secret": []byte(text)},
	}); err != nil {
		t.Fatal(err)
	}
}
