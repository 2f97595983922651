package broker

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/captf-toolkit/captf/provider/internal/state"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// TestStart: a run may begin unless its object or its Cluster is paused, in either of the ways that there are (B-896).
func TestStart(t *testing.T) {
	for _, test := range []struct {
		name            string
		cluster, object string // what of them is paused: "", spec, annotation; gone
		want            int
		says            string
	}{
		{"nothing", "", "", http.StatusNoContent, ""},
		{"cluster", "spec", "", http.StatusConflict, "Cluster prod is paused"},
		{"cluster-annotated", "annotation", "", http.StatusConflict, "Cluster prod is paused"},
		{"object", "", "annotation", http.StatusConflict, "TerraformCluster prod is paused"},
		{"cluster-gone", "gone", "", http.StatusNoContent, ""},
		{"all-gone", "gone", "gone", http.StatusNoContent, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, pausable(t, nil))
			f.put("Cluster", test.cluster, map[string]any{"infrastructureRef": map[string]any{
				"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "TerraformCluster", "name": "prod",
			}})
			f.put("TerraformCluster", test.object, map[string]any{
				"source": map[string]any{"image": "registry.test/cluster:v1"}, "identityRef": map[string]any{"name": "prod"},
			})
			if code, text := f.do(http.MethodGet, "/v1/start", ""); code != test.want || !strings.Contains(text, test.says) {
				t.Errorf("%d %q, want %d %q", code, text, test.want, test.says)
			}
		})
	}
	t.Run("forbidden", func(t *testing.T) { // a ServiceAccount with the rights of before
		config := tools.Environment(t).Config()
		config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:nowhere:nobody"}
		f := newFixture(t, pausable(t, config))
		if code, text := f.do(http.MethodGet, "/v1/start", ""); code != http.StatusNoContent {
			t.Errorf("%d %q", code, text)
		}
		if !strings.Contains(f.log.String(), "may not be read") {
			t.Errorf("the log does not say so:\n%s", f.log)
		}
	})
}

// pausable makes a broker look at TerraformCluster and Cluster prod, with a client of another configuration if there is one.
func pausable(t *testing.T, config *rest.Config) func(*Config) {
	t.Helper()
	if config == nil {
		config = tools.Environment(t).Config()
	}
	c, err := state.NewClient(config, slices.Collect(maps.Values(pausables))...)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *Config) {
		o.Client, o.PausedBy = c, []Pausable{{Kind: "TerraformCluster", Name: "prod"}, {Kind: "Cluster", Name: "prod"}}
	}
}

// put creates the object prod of a kind, paused in a way.
func (f *fixture) put(kind, how string, spec map[string]any) {
	f.t.Helper()
	if how == "gone" {
		return
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(pausables[kind])
	o.SetNamespace(f.Key.Namespace)
	o.SetName("prod")
	switch how {
	case "spec":
		spec["paused"] = true
	case "annotation":
		o.SetAnnotations(map[string]string{clusterv1.PausedAnnotation: ""})
	}
	if err := f.Client.Create(f.t.Context(), o); err != nil {
		f.t.Fatal(err)
	}
}

func TestParsePausable(t *testing.T) {
	for text, want := range map[string]Pausable{
		"Cluster/prod": {"Cluster", "prod"}, "TerraformMachine/a.b": {"TerraformMachine", "a.b"},
		"": {}, "Cluster": {}, "Cluster/": {}, "Secret/prod": {}, "/prod": {},
	} {
		got, err := ParsePausable(text)
		if got != want || (err == nil) != (want != Pausable{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
