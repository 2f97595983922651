package job_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/job"
)

func env(pairs ...string) (out []corev1.EnvVar) {
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		out = append(out, corev1.EnvVar{Name: name, Value: value})
	}
	return out
}

func secrets(names ...string) (out []corev1.LocalObjectReference) {
	for _, n := range names {
		out = append(out, corev1.LocalObjectReference{Name: n})
	}
	return out
}

// TestMerge is B-258 and provider-api.md 2.3.3: what of three policies comes from which.
func TestMerge(t *testing.T) {
	own := &infrav1.JobPolicy{
		SuccessfulJobsHistoryLimit: new(int32(0)),
		LockTimeoutSeconds:         new(int32(0)),
		Env:                        env("A=own", "B=own", "KUBE_TOKEN=own"),
		ImagePullSecrets:           secrets("own", "both"),
		SecurityContext:            &corev1.SecurityContext{RunAsUser: new(int64(1))},
	}
	defaults := &infrav1.JobPolicy{
		SuccessfulJobsHistoryLimit: new(int32(7)),
		FailedJobsHistoryLimit:     new(int32(8)),
		ActiveDeadlineSeconds:      120,
		ServiceAccountName:         "team",
		Env:                        env("B=defaults", "C=defaults"),
		ImagePullSecrets:           secrets("both", "defaults"),
		SecurityContext:            &corev1.SecurityContext{RunAsNonRoot: new(true)},
	}
	cluster := &infrav1.JobPolicy{
		ActiveDeadlineSeconds: 240,
		LockTimeoutSeconds:    new(int32(60)),
		ServiceAccountName:    "cluster",
		Env:                   env("C=cluster", "TF_LOG=cluster"),
		Resources:             &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		PodSecurityContext:    &corev1.PodSecurityContext{FSGroup: new(int64(5))},
	}
	c := &infrav1.TerraformCluster{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
	c.Spec.Jobs, c.Spec.Defaults = cluster, &infrav1.ClusterDefaults{Jobs: defaults}
	m := &infrav1.TerraformMachine{}
	m.Spec.Jobs = own

	builtIn := job.Merge()
	want := job.Settings{
		SuccessfulJobsHistoryLimit: 0,
		FailedJobsHistoryLimit:     8,
		ActiveDeadlineSeconds:      120, DeadlineFrom: "spec.defaults.jobs of TerraformCluster prod",
		LockTimeoutSeconds: 0, LockTimeoutFrom: "spec.jobs",
		ServiceAccountName: "team",
		ImagePullSecrets:   secrets("own", "both", "defaults"),
		Resources:          *cluster.Resources,
		Env:                env("A=own", "B=own", "C=defaults"),
		DroppedEnv:         []string{"KUBE_TOKEN", "TF_LOG"},
		SecurityContext:    own.SecurityContext,
		PodSecurityContext: cluster.PodSecurityContext,
	}
	if diff := cmp.Diff(want, job.Resolve(m, c)); diff != "" {
		t.Errorf("machine (-want +got):\n%s", diff)
	}

	// A cluster uses its own policy only.
	want = builtIn
	want.ActiveDeadlineSeconds, want.DeadlineFrom = 240, "spec.jobs"
	want.LockTimeoutSeconds, want.LockTimeoutFrom = 60, "spec.jobs"
	want.ServiceAccountName, want.Resources, want.PodSecurityContext = "cluster", *cluster.Resources, cluster.PodSecurityContext
	want.Env, want.DroppedEnv = env("C=cluster"), []string{"TF_LOG"}
	if diff := cmp.Diff(want, job.Resolve(c, nil)); diff != "" {
		t.Errorf("cluster (-want +got):\n%s", diff)
	}

	// Without policies, and without a cluster, there are the built-in settings (B-250, B-251, B-978, D12).
	if diff := cmp.Diff(builtIn, job.Resolve(&infrav1.TerraformMachinePool{}, nil)); diff != "" {
		t.Errorf("pool (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(builtIn, job.Resolve(&infrav1.TerraformMachinePool{}, &infrav1.TerraformCluster{})); diff != "" {
		t.Errorf("pool of a cluster without policies (-want +got):\n%s", diff)
	}
	if builtIn.FailedJobsHistoryLimit != 3 || builtIn.SuccessfulJobsHistoryLimit != 3 || builtIn.ActiveDeadlineSeconds != 3600 ||
		builtIn.LockTimeoutSeconds != 300 || builtIn.ServiceAccountName != "captf-runner" || builtIn.Resources.Limits.Memory().String() != "2Gi" ||
		builtIn.Resources.Requests.Memory().String() != "512Mi" || builtIn.Resources.Requests.Cpu().String() != "250m" || !builtIn.Resources.Limits.Cpu().IsZero() {
		t.Errorf("built-in settings: %+v", builtIn)
	}
}

// TestCheck is B-253 and provider-api.md 2.3.1.
func TestCheck(t *testing.T) {
	s := job.Merge(
		job.Layer{From: "spec.jobs", Policy: &infrav1.JobPolicy{LockTimeoutSeconds: new(int32(400))}},
		job.Layer{From: "spec.jobs of TerraformCluster prod", Policy: &infrav1.JobPolicy{ActiveDeadlineSeconds: 400}},
	)
	err := s.Check()
	if err == nil {
		t.Fatal("each policy is fine and both together are not, unnoticed")
	}
	for _, part := range []string{"lockTimeoutSeconds 400 (spec.jobs)", "activeDeadlineSeconds 400 (spec.jobs of TerraformCluster prod)"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if err := job.Merge().Check(); err != nil {
		t.Error(err)
	}
	s.ActiveDeadlineSeconds = 401
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	for op, want := range map[infrav1.Operation]bool{"apply": true, "plan": true, "refresh": true, "drift": true, "destroy": false, "restore": false} {
		if job.Checked(op) != want {
			t.Errorf("%s is checked: %t (B-254)", op, !want)
		}
	}
}
