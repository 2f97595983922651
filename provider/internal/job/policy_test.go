package job_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/captf-toolkit/captf/contract/golden"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/job"
)

// TestValidatePolicy reads the policies in testdata/policy and compares what is said of each with the .txt file beside it,
// which is empty for one that is accepted.
func TestValidatePolicy(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "policy", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".yaml")
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var policy infrav1.JobPolicy
			if err := yaml.UnmarshalStrict(b, &policy); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for _, e := range job.ValidatePolicy(&policy, field.NewPath("spec", "jobs")) {
				out.WriteString(e.Error() + "\n")
			}
			golden.Assert(t, name+".txt", []byte(out.String()))
			if accepted := strings.HasPrefix(filepath.Base(name), "ok-"); accepted != (out.Len() == 0) {
				t.Errorf("a case whose name starts with ok- is accepted, and no other: %s", out.String())
			}
		})
	}
	if errs := job.ValidatePolicy(nil, nil); errs != nil {
		t.Errorf("no policy: %v", errs)
	}
}
