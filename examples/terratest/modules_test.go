// Package terratest shows how the tests of a set of modules fit together: what a
// module does by itself is tested with terratest, what it must do for Cluster API
// with contracttest.
package terratest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gruntwork-io/terratest/modules/files"
	"github.com/gruntwork-io/terratest/modules/logger"
	"github.com/gruntwork-io/terratest/modules/terraform"

	"github.com/captf-toolkit/captf/sdk/contracttest"
)

// modules is the set that is tested: here the no-op modules.
const modules = "../../modules/noop"

// binary is the runtime that both kinds of test use: $CAPTF_TOFU, or tofu on PATH.
func binary() string {
	if path := os.Getenv("CAPTF_TOFU"); path != "" {
		return path
	}
	return "tofu"
}

// TestMachine tests the machine module by itself, with the inputs that CAPTF
// would give it.
func TestMachine(t *testing.T) {
	dir, err := files.CopyTerraformFolderToTemp(filepath.Join(modules, "machine"), strings.ToLower(t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	options := &terraform.Options{
		TerraformDir:    dir,
		TerraformBinary: binary(),
		NoColor:         true,
		Logger:          logger.Discard,
		EnvVars:         map[string]string{"CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": ""},
		Vars: map[string]any{
			"captf_contract":        "v1alpha1",
			"captf_cluster":         map[string]any{"name": "demo", "namespace": "default"},
			"captf_object":          map[string]any{"kind": "TerraformMachine", "name": "demo-abcde", "namespace": "default"},
			"captf_tags":            map[string]any{"captf.io/cluster": "default/demo"},
			"captf_cluster_outputs": map[string]any{"schema": "captf.io/noop-cluster/v1", "backend_id": "noop-backend-demo"},
			"machine_name":          "demo-abcde",
			"bootstrap_data":        "I2Nsb3VkLWNvbmZpZwo=",
			"bootstrap_format":      "cloud-config",
			"failure_domain":        nil,
			"kubernetes_version":    "v1.34.0",
			"control_plane":         true,
		},
	}
	ctx := t.Context()
	defer terraform.DestroyContext(t, ctx, options)
	terraform.InitAndApplyContext(t, ctx, options)
	if id := terraform.OutputContext(t, ctx, options, "provider_id"); !strings.HasSuffix(id, "demo-abcde") {
		t.Errorf("provider_id is %q: it does not name the machine", id)
	}
	if code := terraform.PlanExitCodeContext(t, ctx, options); code != 0 {
		t.Errorf("the plan after the apply is not empty: exit code %d", code)
	}
}

// TestContract tests the set against the contract: lint, then the lives of
// clusters under KubeadmControlPlane. Modules of a cloud run without an account
// with Simulate.
func TestContract(t *testing.T) {
	contracttest.TestModule(t, contracttest.Options{
		Dir:       modules,
		Runtime:   binary(),
		Strict:    true,
		Scenarios: []string{"K1"}, // leave this out to play every scenario
	})
}
