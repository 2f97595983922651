package names_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// TestGolden pins names that objects of a running installation carry: a change of one orphans them.
func TestGolden(t *testing.T) {
	long := strings.Repeat("n", 60)
	for what, test := range map[string]struct{ got, want string }{
		"job":                {names.Job(contract.RoleCluster, "prod", "apply", 3, "0a1b2c"), "captf-c-prod-apply-a3-0a1b2c"},
		"job of a pool":      {names.Job(contract.RoleMachinePool, "prod", "refresh", 1, "0a1b2c"), "captf-mp-prod-refresh-a1-0a1b2c"},
		"job, long name":     {names.Job(contract.RoleMachine, long, "destroy", 12, "0a1b2c"), "captf-m-fb886b452111b2ed-destroy-a12-0a1b2c"},
		"job hash":           {names.JobHash("h2:00", "registry.example/m:v1", "apply", 1, ""), "e9647b"},
		"job hash with tick": {names.JobHash("h2:00", "registry.example/m:v1", "drift", 1, "2026-01-02T03:04:05Z"), "515e05"},
		"run secret":         {names.RunSecret("captf-c-prod-apply-a3-0a1b2c"), "captf-run-captf-c-prod-apply-a3-0a1b2c"},
		"plan key":           {names.PlanKeySecret(contract.RoleMachinePool, "p"), "captf-plankey-mp-p"},
		"mirror":             {names.Mirror("aws"), "captf-creds-aws"},
		"run lease":          {names.RunLease("0123456789abcdef-c"), "captf-run-0123456789abcdef-c"},
		"cluster lease":      {names.ClusterLease("default", "prod"), "captf-cluster-2e159cc5a46c6434"},
		"label":              {names.LabelValue("prod"), "prod"},
		"label, long name":   {names.LabelValue(strings.Repeat("n", 64)), "ce068a195ab380a8"},
	} {
		if test.got != test.want {
			t.Errorf("%s is %s, want %s", what, test.got, test.want)
		}
	}
}

// TestValid holds every name against Kubernetes' rules, however long the object's name.
func TestValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,3}`).
			Filter(func(s string) bool { return len(s) <= 253 }).Draw(t, "name")
		role := rapid.SampledFrom(contract.Roles()).Draw(t, "role")
		op := rapid.SampledFrom([]string{"apply", "destroy", "refresh", "drift", "restore", "plan"}).Draw(t, "op")
		attempt := rapid.IntRange(1, 9999).Draw(t, "attempt")

		job := names.Job(role, name, op, attempt, names.JobHash("h", "i", op, attempt, ""))
		if len(job) > 57 {
			t.Fatalf("the Job's name %s has %d characters", job, len(job))
		}
		for _, n := range []string{job, names.RunSecret(job), names.PlanKeySecret(role, name), names.Mirror(name)} {
			if errs := validation.IsDNS1123Subdomain(n); len(errs) > 0 {
				t.Fatalf("%q: %s", n, errs)
			}
		}
		if errs := validation.IsValidLabelValue(names.LabelValue(name)); len(errs) > 0 {
			t.Fatalf("label of %q: %s", name, errs)
		}
	})
}
