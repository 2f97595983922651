package image_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclparse"

	"github.com/captf-toolkit/captf/contract/image"
)

func TestEnvironment(t *testing.T) {
	env, dropped := image.Environment([]string{
		"PATH=/bin", "HOME=/root", "TF_LOG=trace", "TF_VAR_secret=a", "KUBE_NAMESPACE=other", "TMPDIR=/var/tmp", "EMPTY=", "BROKEN", "=x",
	}, "default", true)
	want := []string{
		"CHECKPOINT_DISABLE=1", "EMPTY=", "HOME=/captf/work", "KUBE_NAMESPACE=default", "PATH=/bin", "TF_CLI_CONFIG_FILE=/captf/work/cli.tfrc",
		"TF_DATA_DIR=/captf/work/.terraform", "TF_INPUT=0", "TF_IN_AUTOMATION=1", "TMPDIR=/var/tmp",
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"KUBE_NAMESPACE", "TF_LOG", "TF_VAR_secret"}, dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	env, _ = image.Environment(nil, "default", false)
	if !slices.Contains(env, "TMPDIR=/tmp") || slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "TF_CLI_CONFIG_FILE=") }) {
		t.Errorf("without a mirror: %v", env)
	}
}

func TestCLIConfig(t *testing.T) {
	if _, diags := hclparse.NewParser().ParseHCL([]byte(image.CLIConfig), "cli.tfrc"); diags.HasErrors() {
		t.Fatal(diags)
	}
	if strings.Count(image.CLIConfig, `"*/*/*"`) != 2 {
		t.Error("the mirror has to serve every host, and nothing may be downloaded")
	}
	if !image.Within(image.WorkPath, image.CLIConfigPath) || !image.Within(image.WorkPath, image.RootPath) {
		t.Error("what a run writes lies in the work directory")
	}
}
