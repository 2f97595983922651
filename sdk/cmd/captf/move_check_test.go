package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/captf-toolkit/captf/sdk/move"
)

// kubeconfigOf writes a kubeconfig with two contexts of one server.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	raw, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: server}},
		Contexts: map[string]*clientcmdapi.Context{
			"one": {Cluster: "c", Namespace: "of-the-context"},
			"two": {Cluster: "c"},
		},
		CurrentContext: "one",
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMoveCheckCommand: what the command line means. What is found on real API servers is tested by package move.
func TestMoveCheckCommand(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	// An API server of which nobody may see anything, and one without Cluster API.
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not for you","code":403}`))
	}))
	defer refusing.Close()
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/kube-system") {
			_, _ = w.Write([]byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"kube-system","uid":"1"}}`))
			return
		}
		kind := "List"
		if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
			kind = "PartialObjectMetadataList"
		}
		_, _ = w.Write([]byte(`{"kind":"` + kind + `","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[]}`))
	}))
	defer empty.Close()
	no, yes := kubeconfigOf(t, refusing.URL), kubeconfigOf(t, empty.URL)
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"x"}, exitUsage, "no argument is needed"},
		{[]string{"-o", "yaml"}, exitUsage, "it is one of text, json"},
		{[]string{"--kubeconfig", missing}, exitError, "reading the kubeconfig " + missing},
		{[]string{"--kubeconfig", yes, "--kubeconfig-context", "three"}, exitError, "with context three"},
		{[]string{"--kubeconfig", yes, "--to-kubeconfig", missing}, exitError, "opening the target"},
		{[]string{"--kubeconfig", yes, "--to-kubeconfig-context", "three"}, exitError, "opening the target: reading the kubeconfig " + yes + " with context three"},
		{[]string{"--kubeconfig", no}, exitError, "listing customresourcedefinitions.apiextensions.k8s.io"},
		{[]string{"--kubeconfig", yes, "--to-kubeconfig", no}, exitError, "reading the target"},
		{[]string{"--kubeconfig", yes, "--cluster", "prod"}, exitError, "there is none at all"},
		{[]string{"--kubeconfig", yes}, exitFailed, "Namespace of-the-context: nothing moves"},
		{[]string{"--kubeconfig", yes, "-n", "other"}, exitFailed, "fix: kubectl --kubeconfig " + yes + " get crd"},
		{[]string{"--kubeconfig", yes, "--to-kubeconfig-context", "two"}, exitFailed, "NOT READY  1 error, 0 warnings, 0 notes\n"},
	} {
		code, out, errOut := captf(t, append([]string{"move", "check"}, c.args...)...)
		if code != c.code || !strings.Contains(out+errOut, c.want) {
			t.Errorf("%v: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.want, out, errOut)
		}
		if c.code != exitFailed && out != "" {
			t.Errorf("%v: printed %s", c.args, out)
		}
	}
	code, out, errOut := captf(t, "move", "check", "--kubeconfig", yes, "-o", "json")
	var r move.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitFailed || r.Ready || len(r.Findings) != 1 || !strings.HasPrefix(errOut, "source: read 0 kinds and 0 objects in ") {
		t.Errorf("exit code %d, %v, %+v, %s", code, err, r, errOut)
	}
}
