package persona_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
	"github.com/captf-toolkit/captf/sdk/simcloud"
	"github.com/captf-toolkit/captf/sdk/simcloud/persona"
)

// clouds are the folders of testdata: a folder holds main.tf, whose life must leave nothing, and in
// mistakes a folder for each thing that the cloud refuses, with main.tf and a part of the refusal in want.txt.
var clouds = map[string]string{
	"aws": "hashicorp/aws", "azure": "hashicorp/azurerm", "google": "hashicorp/google", "openstack": "terraform-provider-openstack/openstack", "oci": "oracle/oci",
}

// open copies a folder and opens it on a server of its provider.
func open(t testing.TB, b *runtime.Binary, source, dir string) (*runtime.Workdir, *simcloud.Cloud) {
	t.Helper()
	p := persona.For(source)
	s, err := simcloud.Start(simcloud.Options{Providers: []simcloud.Provider{{Schema: recorded(t, p), Persona: p}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	env, err := s.Reattach("test")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	runtimetest.Write(t, work, map[string]string{"main.tf": string(text)})
	return runtimetest.Workdir(t, b, work, runtime.WorkdirOptions{Env: map[string]string{"TF_REATTACH_PROVIDERS": env}}), s.Cloud()
}

// done ends the test if a run failed.
func done(t testing.TB) func(*runtime.Result, error) *runtime.Result {
	t.Helper()
	return func(r *runtime.Result, err error) *runtime.Result {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// A small module for each cloud is applied, planned, refreshed, scaled and destroyed: plans are empty when nothing
// changed, groups have the members that they should, no two things share an address, and nothing is left.
func TestLife(t *testing.T) {
	for name, source := range clouds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, cloud := open(t, runtimetest.OpenTofu(t), source, filepath.Join("testdata", name))
			done(t)(w.Apply(t.Context(), runtime.ApplyOptions{}))
			if r := done(t)(w.Plan(t.Context(), runtime.PlanOptions{})); r.Changed {
				t.Errorf("the plan after the apply is not empty: %+v", r.Planned)
			}
			members(t, w, 3)
			scale(t, w, 5)
			done(t)(w.Apply(t.Context(), runtime.ApplyOptions{}))
			members(t, w, 5)
			done(t)(w.Refresh(t.Context()))
			scale(t, w, 1)
			done(t)(w.Apply(t.Context(), runtime.ApplyOptions{}))
			members(t, w, 1)
			done(t)(w.Destroy(t.Context(), runtime.ApplyOptions{}))
			for _, o := range cloud.Objects() {
				t.Errorf("left behind: %s %s", o.Type, o.ID)
			}
		})
	}
}

// scale sets the variable replicas.
func scale(t testing.TB, w *runtime.Workdir, n int) {
	t.Helper()
	runtimetest.Write(t, w.Dir(), map[string]string{"terraform.tfvars": "replicas = " + strconv.Itoa(n) + "\n"})
}

// members asserts how many members the output tells, unless the module has no such output, and that addresses differ.
func members(t testing.TB, w *runtime.Workdir, want int) {
	t.Helper()
	out, err := w.Outputs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if raw := out["members"]; raw != nil {
		if err := json.Unmarshal(raw, &n); err != nil || n != want {
			t.Errorf("the group has %s members, want %d", raw, want)
		}
	}
	var addresses []string
	if err := json.Unmarshal(out["addresses"], &addresses); err != nil {
		t.Fatal(err)
	}
	slices.Sort(addresses)
	if len(addresses) == 0 || len(slices.Compact(slices.Clone(addresses))) != len(addresses) || addresses[0] == "" {
		t.Errorf("addresses are missing or shared: %v", addresses)
	}
}

// Mistakes that a real cloud refuses are refused, in its own words.
func TestMistakes(t *testing.T) {
	for name, source := range clouds {
		cases, err := filepath.Glob(filepath.Join("testdata", name, "mistakes", "*"))
		if err != nil || len(cases) == 0 {
			t.Fatalf("%s has no mistakes: %v", name, err)
		}
		for _, dir := range cases {
			t.Run(name+"/"+filepath.Base(dir), func(t *testing.T) {
				t.Parallel()
				want, err := os.ReadFile(filepath.Join(dir, "want.txt"))
				if err != nil {
					t.Fatal(err)
				}
				w, cloud := open(t, runtimetest.OpenTofu(t), source, dir)
				r, err := w.Apply(t.Context(), runtime.ApplyOptions{})
				if err == nil {
					t.Fatal("the apply succeeds")
				}
				text := ""
				for _, d := range r.Errors() {
					text += d.Summary + "\n" + d.Detail + "\n"
				}
				if !strings.Contains(text, strings.TrimSpace(string(want))) {
					t.Errorf("refused with\n%s\nwant\n%s", text, want)
				}
				done(t)(w.Destroy(t.Context(), runtime.ApplyOptions{}))
				if left := cloud.Objects(); len(left) != 0 {
					t.Errorf("left behind: %+v", left)
				}
			})
		}
	}
}
