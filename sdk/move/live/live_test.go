package live_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/captf-toolkit/captf/sdk/move"
	"github.com/captf-toolkit/captf/sdk/move/live"
)

// What real API servers answer is tested by package move. Here is what they answer rarely.

// server answers requests by their path and continue token.
func server(t *testing.T, answers map[string]string) *live.Reader {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path+"?"+r.URL.Query().Get("continue")]
		if !ok {
			answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		}
		var status struct{ Code int }
		if err := json.Unmarshal([]byte(answer), &status); err == nil && status.Code != 0 {
			w.WriteHeader(status.Code)
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(s.Close)
	r, err := live.New(&rest.Config{Host: s.URL}, "test")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func page(next string, names ...string) string {
	var items []string
	for _, n := range names {
		items = append(items, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"`+n+`","managedFields":[{"manager":"x"}]}}`)
	}
	return `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":"` + next + `"},"items":[` + strings.Join(items, ",") + `]}`
}

func expired(next string) string {
	return `{"kind":"Status","apiVersion":"v1","metadata":{"continue":"` + next + `"},"status":"Failure","reason":"Expired","message":"too old","code":410}`
}

var configMaps = move.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}

// TestList reads page by page, also when the server has forgotten the first page's version.
func TestList(t *testing.T) {
	const path = "/api/v1/namespaces/a/configmaps?"
	for _, test := range []struct {
		name    string
		answers map[string]string
		want    string
		err     string
	}{
		{"one page", map[string]string{path: page("", "x", "y")}, "x y", ""},
		{"pages", map[string]string{path: page("2", "x"), path + "2": page("3", "y"), path + "3": page("", "z")}, "x y z", ""},
		{"forgotten", map[string]string{path: page("2", "x"), path + "2": expired("2-now"), path + "2-now": page("", "y")}, "x y", ""},
		{"forgotten for good", map[string]string{path: page("2", "x"), path + "2": expired("")}, "x", "too old"},
		{"not served", nil, "", ""},
		{"refused", map[string]string{path: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not for you","code":403}`}, "", "not for you"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, metadata := range []bool{false, true} {
				var names []string
				err := server(t, test.answers).List(t.Context(), move.Query{Resource: configMaps, Namespace: "a", Metadata: metadata}, func(o *unstructured.Unstructured) error {
					if len(o.GetManagedFields()) > 0 {
						t.Error("there are managed fields")
					}
					names = append(names, o.GetName())
					return nil
				})
				if got := strings.Join(names, " "); got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
					t.Errorf("metadata alone: %v: read %q, %v", metadata, got, err)
				}
			}
		})
	}
}

// TestKubeconfig reads files, contexts and namespaces.
func TestKubeconfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	raw := `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],
"contexts":[{"name":"a","context":{"cluster":"c","namespace":"of-a"}},{"name":"b","context":{"cluster":"c"}}],"current-context":"a"}`
	if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	for _, test := range []struct {
		k               live.Kubeconfig
		namespace, fail string
	}{
		{live.Kubeconfig{}, "of-a", ""},
		{live.Kubeconfig{Path: path}, "of-a", ""},
		{live.Kubeconfig{Context: "b"}, "default", ""},
		{live.Kubeconfig{Path: path, Context: "c"}, "", "reading the kubeconfig " + path + " with context c: "},
		{live.Kubeconfig{Path: path + "x"}, "", "reading the kubeconfig " + path + "x: "},
	} {
		config, namespace, err := test.k.Config()
		if test.fail != "" {
			if err == nil || !strings.HasPrefix(err.Error(), test.fail) {
				t.Errorf("%v: %v", test.k, err)
			}
			continue
		}
		if err != nil || namespace != test.namespace || config.Host != "http://127.0.0.1:1" {
			t.Errorf("%v: %q, %v", test.k, namespace, err)
		}
	}
	if _, err := live.New(&rest.Config{Host: "http://[::1"}, "test"); err == nil {
		t.Error("an address that is none is accepted")
	}
}
