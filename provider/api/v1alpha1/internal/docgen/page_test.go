package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const bases = "../../../../config/crd/bases"

// TestPage looks for what the page says of fields whose rules come from different places.
func TestPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api.md")
	var stderr bytes.Buffer
	if code := run([]string{bases, file}, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	section, rows := "", map[string]string{}
	for line := range strings.Lines(string(content)) {
		if kind, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(kind)
		}
		if cells := strings.SplitN(line, "|", 3); len(cells) == 3 {
			rows[section+" "+strings.Trim(strings.TrimSpace(cells[1]), "`")] = cells[2]
		}
	}
	for field, says := range map[string][]string{
		"TerraformCluster spec.source.image":                       {"string", "required", "1 to 512 characters"},
		"TerraformCluster spec.jobs.activeDeadlineSeconds":         {"integer", "3600 if unset", "1 to 86400"},
		"TerraformCluster spec.jobs.env":                           {"[]EnvVar", "1 to 64 items", "each `name` once"},
		"TerraformCluster spec.controlPlaneEndpoint":               {"immutable once host and port are set"},
		"TerraformCluster spec.variables":                          {"object of any JSON", "1 to 256 keys"},
		"TerraformCluster spec.identityRef":                        {"identityRef is required"},
		"TerraformCluster spec.drift":                              {"not empty"},
		"TerraformMachine spec.variables":                          {"variables are immutable"},
		"TerraformMachine spec.providerID":                         {"immutable once it is set"},
		"TerraformMachineTemplate spec.template.spec":              {"[spec of TerraformMachine](#terraformmachine)", "immutable"},
		"TerraformMachinePool spec.providerIDList":                 {"[]string", "at most 10000 items", "each 1 to 512 characters"},
		"TerraformClusterIdentity spec.allowedNamespaces":          {"an empty allowedNamespaces selects nothing"},
		"TerraformClusterIdentity spec.allowedNamespaces.selector": {"LabelSelector"},
		"TerraformPlan spec.approved":                              {"cannot be taken back"},
		"TerraformPlan status.phase":                               {"`Pending`, `Approved`"},
		"TerraformMachinePool status.instances[].addresses[].type": {"one of"},
		" [TerraformPlan](#terraformplan)":                         {"`tfplan`", "namespace"},
	} {
		row, ok := rows[field]
		if !ok {
			t.Errorf("there is no row of %s", field)
		}
		for _, part := range says {
			if !strings.Contains(row, part) {
				t.Errorf("%s does not say %q: %s", field, part, row)
			}
		}
	}
	for field := range rows {
		if strings.Contains(field, ".securityContext.") || strings.Contains(field, "conditions[]") {
			t.Errorf("%s is explained by Kubernetes", field)
		}
	}
}

func TestWrong(t *testing.T) {
	definitions, err := read(bases)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(map[string]*apiextensionsv1.CustomResourceDefinition){
		"it has 8 kinds": func(d map[string]*apiextensionsv1.CustomResourceDefinition) { delete(d, "TerraformPlan") },
		"no definition of": func(d map[string]*apiextensionsv1.CustomResourceDefinition) {
			d["Other"] = d["TerraformPlan"]
			delete(d, "TerraformPlan")
		},
		"makes something else": func(d map[string]*apiextensionsv1.CustomResourceDefinition) {
			d["TerraformMachine"] = d["TerraformPlan"].DeepCopy()
		},
	} {
		changed := maps.Clone(definitions)
		change(changed)
		if _, err := page(changed); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error is %v, and should say %q", err, name)
		}
	}
	for _, args := range [][]string{nil, {"no-folder", filepath.Join(t.TempDir(), "api.md")}} {
		if code := run(args, &bytes.Buffer{}); code == 0 {
			t.Errorf("the arguments %q are no error", args)
		}
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "a.yaml"), []byte("spec: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := run([]string{broken, filepath.Join(broken, "api.md")}, &bytes.Buffer{}); code != 1 {
		t.Errorf("a definition that is no YAML gives the exit code %d", code)
	}
}
