package broker

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/provider/testenv"
)

var listAll = metav1.ListOptions{}

// newAccount makes a service account with the rights of provider-ops.md 3.2, and the directory that a pod has of it.
func newAccount(t *testing.T, env *testenv.Environment, ns string) string {
	t.Helper()
	ctx, c := t.Context(), env.Clients()
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	meta := metav1.ObjectMeta{Namespace: ns, Name: "captf-runner"}
	_, err := c.CoreV1().ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.RbacV1().Roles(ns).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		rule("", "secrets", "get", "list", "create", "update", "delete"),
		rule("coordination.k8s.io", "leases", "get", "create", "update"),
		rule("events.k8s.io", "events", "create"),
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err = c.RbacV1().RoleBindings(ns).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: meta.Name}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config, err := env.ServiceAccountConfig(ctx, ns, meta.Name)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(config.Host)
	if err != nil || server.Hostname() == "" {
		if server, err = url.Parse("https://" + config.Host); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", server.Hostname())
	t.Setenv("KUBERNETES_SERVICE_PORT", server.Port())
	ca, err := os.ReadFile(env.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"token": []byte(config.BearerToken), "ca.crt": ca} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// awaitSession waits until a broker wrote its session, or ended.
func awaitSession(t *testing.T, dir string, ended <-chan error) *Session {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if s, err := ReadSession(dir); err == nil {
			return s
		}
		select {
		case err := <-ended:
			t.Fatalf("the broker ended: %v", err)
		case <-t.Context().Done():
			t.Fatal("the broker wrote no session")
		case <-tick.C:
		}
	}
}
