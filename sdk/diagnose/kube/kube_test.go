package kube_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/captf-toolkit/captf/sdk/diagnose"
	"github.com/captf-toolkit/captf/sdk/diagnose/kube"
)

// TestSecrets: not even the API server is asked.
func TestSecrets(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was asked for", r.URL)
	}))
	defer server.Close()
	r, err := kube.New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.List(t.Context(), "", "Secret", "shop", ""); !errors.Is(err, diagnose.ErrSecret) {
		t.Errorf("got %v", err)
	}
}

// TestBrokenServer tells what could not be asked.
func TestBrokenServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	r, err := kube.New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.List(t.Context(), "cluster.x-k8s.io", "Cluster", "shop", ""); err == nil || !strings.Contains(err.Error(), "asking the API server which kinds it has") {
		t.Errorf("got %v", err)
	}
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts:
- {name: one, context: {cluster: c, user: u, namespace: shop}}
- {name: two, context: {cluster: c, user: u}}
current-context: one
`

func TestConfig(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]string{"": "shop", "one": "shop", "two": "default"} {
		c, namespace, err := kube.Config(kube.Options{Kubeconfig: path, Context: context, UserAgent: "captf/test", Timeout: time.Second})
		if err != nil || namespace != want || c.Host != "https://127.0.0.1:1" || c.UserAgent != "captf/test" || c.Timeout != time.Second {
			t.Errorf("context %q: namespace %q, %+v, %v", context, namespace, c, err)
		}
	}
	if _, _, err := kube.Config(kube.Options{Kubeconfig: path, Context: "three"}); err == nil || !strings.Contains(err.Error(), "reading the kubeconfig") {
		t.Errorf("a context that is not there: %v", err)
	}
}
