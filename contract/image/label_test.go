package image_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
)

// caseRule returns the rule that the file bad-RULE-NAME expects to be broken,
// "" for a file good-NAME.
func caseRule(t *testing.T, file string) string {
	t.Helper()
	name := filepath.Base(file)
	if strings.HasPrefix(name, "good-") {
		return ""
	}
	parts := strings.SplitN(name, "-", 3)
	if parts[0] != "bad" || len(parts) < 3 {
		t.Fatalf("%s: name it good-NAME or bad-RULE-NAME", file)
	}
	return parts[1]
}

func rulesOf(vs contract.Violations) []string {
	var out []string
	for _, v := range vs {
		out = append(out, v.Rule)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestLabels holds every label against the files in its folder.
func TestLabels(t *testing.T) {
	for _, l := range image.Labels() {
		files, err := filepath.Glob(filepath.Join("testdata", "labels", string(l.Key), "*"))
		if err != nil {
			t.Fatal(err)
		}
		var good, bad int
		for _, file := range files {
			t.Run(string(l.Key)+"/"+filepath.Base(file), func(t *testing.T) {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				want := caseRule(t, file)
				vs := image.CheckLabels(map[string]string{string(l.Key): string(b), "unrelated": "\x00"})
				if want == "" {
					good++
					if len(vs) > 0 {
						t.Fatalf("good label is refused: %v", vs)
					}
					return
				}
				bad++
				if got := rulesOf(vs); !slices.Equal(got, []string{want}) {
					t.Fatalf("broken rules: got %v, want %s\n%v", got, want, vs)
				}
				for _, v := range vs {
					if !strings.HasPrefix(v.Path, "labels["+string(l.Key)+"]") || v.Reason != contract.ReasonInvalid || len(v.Message) > 400 {
						t.Errorf("violation %+v", v)
					}
				}
			})
		}
		if good == 0 || bad == 0 {
			t.Errorf("label %s has %d good and %d bad cases; it needs both", l.Key, good, bad)
		}
	}
}

func TestLabelTable(t *testing.T) {
	for _, l := range image.Labels() {
		if l.Doc == "" || l.Max <= 0 {
			t.Errorf("label %s lacks its documentation or limit", l.Key)
		}
		if found, ok := image.FindLabel(l.Key); !ok || found.Key != l.Key {
			t.Errorf("label %s is not found by its key", l.Key)
		}
	}
	if _, ok := image.FindLabel("io.captf.nope"); ok {
		t.Error("an unknown label is found")
	}
	capacity, _ := image.FindLabel(image.LabelCapacity)
	if capacity.For(contract.RoleCluster) || !capacity.For(contract.RoleMachine) {
		t.Error("capacity is for machines only")
	}
}

func TestCapacityLabelRoundTrip(t *testing.T) {
	const label = `{"cpu":"4","memory":"16Gi","vendor.example/gpu":"1"}`
	c, vs := image.ParseCapacity(label)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	if got := c.Label(); got != label {
		t.Errorf("got %s, want %s", got, label)
	}
}

func TestNodeInfo(t *testing.T) {
	got, vs := image.ParseNodeInfo(`{"operatingSystem":"linux","architecture":"arm64"}`)
	want := image.NodeInfo{Architecture: "arm64", OperatingSystem: "linux"}
	if len(vs) > 0 || got != want {
		t.Errorf("got %+v, %v; want %+v", got, vs, want)
	}
}

// TestSchemaValues judges the variables in each file by the schema of its folder.
func TestSchemaValues(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "values", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, "schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		schema, vs := image.ParseSchema(string(b))
		if len(vs) > 0 {
			t.Fatalf("%s: %v", dir, vs)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*d-*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no cases in %s: %v", dir, err)
		}
		for _, file := range files {
			t.Run(filepath.Base(dir)+"/"+filepath.Base(file), func(t *testing.T) {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				var values map[string]json.RawMessage
				if err := json.Unmarshal(b, &values); err != nil {
					t.Fatal(err)
				}
				want := []string(nil)
				if rule := caseRule(t, file); rule != "" {
					want = []string{rule}
				}
				if diff := cmp.Diff(want, rulesOf(schema.Validate(values))); diff != "" {
					t.Errorf("broken rules (-want +got):\n%s%v", diff, schema.Validate(values))
				}
			})
		}
	}
}

// TestSchemaMessagesHoldNoValue: a variable may be secret.
func TestSchemaMessagesHoldNoValue(t *testing.T) {
	schema, vs := image.ParseSchema(`{"type":"object","properties":{"n":{"type":"number"},"m":{"type":"object","additionalProperties":{"type":"number"}},"l":{"type":"array","items":{"type":"boolean"}}},"additionalProperties":false}`)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	const secret = "hunter2"
	for _, value := range []string{`"hunter2"`, `{"hunter2":"hunter2"}`, `["hunter2"]`, `{"hunter2":["hunter2"]}`, `hunter2`} {
		for _, name := range []string{"n", "m", "l", "other"} {
			vs := schema.Validate(map[string]json.RawMessage{name: json.RawMessage(value)})
			if strings.Contains(vs.Error(), secret) {
				t.Errorf("%s = %s: %v", name, value, vs)
			}
		}
	}
}

func TestPlatforms(t *testing.T) {
	for s, good := range map[string]bool{
		"linux/amd64": true, "linux/arm64": true, "linux": false, "": false, "linux/": false, "/amd64": false,
		"linux/arm/v7": false, "Linux/amd64": false, "linux/amd64\t": false, "../amd64": false,
	} {
		p, err := image.ParsePlatform(s)
		if (err == nil) != good {
			t.Errorf("%q: %v", s, err)
		}
		if err == nil && p.String() != s {
			t.Errorf("%q reads as %s", s, p)
		}
	}
	if !slices.Contains(image.Platforms(), image.DefaultPlatform()) {
		t.Error("the default platform is not among those that an image should have")
	}
}

func TestRuntimeOfFile(t *testing.T) {
	for name, want := range map[string]image.Runtime{
		"/usr/local/bin/tofu": image.OpenTofu, "/opt/opentofu-1.12/opentofu": image.OpenTofu, "tofu_1.12.6_linux_amd64": image.OpenTofu,
		"/usr/bin/terraform": image.Terraform, "Terraform1.9": image.Terraform, "/captf/runtime": "", "": "",
	} {
		if got := image.RuntimeOfFile(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, p := range image.Paths() {
		if !filepath.IsAbs(p.Path) || filepath.Clean(p.Path) != p.Path || p.Doc == "" || p.Required && p.Use != image.Content {
			t.Errorf("path %+v", p)
		}
	}
	if got := len(image.PathsOf(image.Content)) + len(image.PathsOf(image.Reserved)) + len(image.PathsOf(image.Shadowed)); got != len(image.Paths()) {
		t.Errorf("%d paths by use, %d in all", got, len(image.Paths()))
	}
	for _, tc := range []struct {
		dir, path string
		want      bool
	}{
		{"/tmp", "/tmp", true}, {"/tmp", "/tmp/a/b", true}, {"/tmp", "/tmpa", false}, {"/tmp", "/", false}, {"/", "/a", true}, {"/a/", "/a/../b", false},
	} {
		if got := image.Within(tc.dir, tc.path); got != tc.want {
			t.Errorf("%s within %s: %v", tc.path, tc.dir, got)
		}
	}
}
