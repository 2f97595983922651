package job_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/image"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/job"
)

// buildCase is spec.yaml of a folder in testdata/build.
type buildCase struct {
	Spec     job.Spec    `json:"spec"`
	Policies []job.Layer `json:"policies"`
}

// TestBuild builds the Jobs of testdata/build and compares them with job.yaml there.
func TestBuild(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "build", "*", "spec.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c buildCase
			if err := yaml.UnmarshalStrict(b, &c); err != nil {
				t.Fatal(err)
			}
			c.Spec.Settings = job.Merge(c.Policies...)
			built := job.Build(c.Spec)
			got, err := yaml.Marshal(built)
			if err != nil {
				t.Fatal(err)
			}
			golden.Assert(t, filepath.Join(dir, "job.yaml"), got)
			if built.Name != c.Spec.Name() {
				t.Errorf("the Job is called %s, and its spec %s", built.Name, c.Spec.Name())
			}
			checkPod(t, built)
		})
	}
}

// checkPod holds a Job against what no policy may change (design D5, B-143, B-553, B-557).
func checkPod(t interface {
	Helper()
	Errorf(format string, args ...any)
}, j *batchv1.Job,
) {
	t.Helper()
	pod := j.Spec.Template.Spec
	if *j.Spec.BackoffLimit != 0 || j.Spec.TTLSecondsAfterFinished != nil || pod.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("a pod may run twice, or a Job vanish before it is recorded")
	}
	if *pod.AutomountServiceAccountToken || pod.HostNetwork || pod.HostPID || pod.HostIPC || len(pod.Containers) != 1 {
		t.Errorf("the pod has more than it needs")
	}

	// Only the broker sees the token, only the module the credentials and inputs; the module cannot write to the broker.
	secret := map[string]bool{}
	for _, v := range pod.Volumes {
		secret[v.Name] = v.Secret != nil
		if v.Projected != nil && len(mounts(pod.InitContainers[1], v.Name)) != 1 {
			t.Errorf("the broker has no token")
		}
		if v.Projected != nil && len(mounts(pod.Containers[0], v.Name))+len(mounts(pod.InitContainers[0], v.Name)) > 0 {
			t.Errorf("another container than the broker has the token")
		}
	}
	for _, c := range pod.InitContainers {
		for _, m := range c.VolumeMounts {
			if secret[m.Name] {
				t.Errorf("container %s mounts Secret volume %s", c.Name, m.Name)
			}
		}
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		writable := []string{image.WorkPath, "/tmp"}
		if !m.ReadOnly && !slices.Contains(writable, m.MountPath) {
			t.Errorf("the module can write to %s", m.MountPath)
		}
		hidden := slices.Concat(image.PathsOf(image.Reserved), image.PathsOf(image.Shadowed))
		if m.MountPath != job.BrokerPath && !slices.Contains(hidden, m.MountPath) {
			t.Errorf("%s is mounted, which the image contract does not say", m.MountPath)
		}
	}

	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		sc := c.SecurityContext
		if *sc.AllowPrivilegeEscalation || !*sc.ReadOnlyRootFilesystem || len(sc.Capabilities.Add) > 0 || !slices.Equal(sc.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("container %s: security context %+v", c.Name, sc)
		}
		names := map[string]bool{}
		for _, e := range c.Env {
			if names[e.Name] {
				t.Errorf("container %s has variable %s twice", c.Name, e.Name)
			}
			names[e.Name] = true
		}
	}
	for _, c := range pod.InitContainers {
		if *c.SecurityContext.RunAsUser != image.UserID || !*c.SecurityContext.RunAsNonRoot {
			t.Errorf("container %s may run as root", c.Name)
		}
	}
	for key, value := range j.Labels {
		if errs := validation.IsValidLabelValue(value); len(errs) > 0 || j.Spec.Template.Labels[key] != value {
			t.Errorf("label %s=%s: %v", key, value, errs)
		}
	}
}

func mounts(c corev1.Container, volume string) []corev1.VolumeMount {
	return slices.DeleteFunc(slices.Clone(c.VolumeMounts), func(m corev1.VolumeMount) bool { return m.Name != volume })
}

// TestBuildAlways: whatever policies admission lets pass, a Job keeps its limits, and building it changes nothing.
func TestBuildAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := genPolicy(t)
		name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,200}[a-z0-9])?`).Draw(t, "name")
		s := job.Spec{
			Object:    job.Object{Role: rapid.SampledFrom(contract.Roles()).Draw(t, "role"), Namespace: "ns", Name: name, UID: "1"},
			Cluster:   rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?`).Draw(t, "cluster"),
			Operation: rapid.SampledFrom([]infrav1.Operation{"apply", "plan", "destroy", "refresh", "drift"}).Draw(t, "op"),
			Attempt:   rapid.IntRange(1, 1000).Draw(t, "attempt"),
			Image:     job.Image{Reference: "m:v1", Run: "m:v1"}, RunnerImage: "r",
			Settings: job.Merge(job.Layer{From: "a", Policy: policy}, job.Layer{From: "b", Policy: genPolicy(t)}),
		}
		before, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		built := job.Build(s)
		checkPod(t, built)
		if key := slices.ContainsFunc(built.Spec.Template.Spec.InitContainers[1].Args, func(a string) bool { return strings.HasPrefix(a, "--plan-key-secret=") }); key != job.NeedsPlanKey(s.Object.Role, s.Operation) {
			t.Fatalf("plan key: %t", key)
		}

		// A Job shares nothing with its settings: the API server's answer is decoded into it.
		scribble(built)
		after, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if string(before) != string(after) {
			t.Fatalf("building or changing the Job changed its spec:\n%s\n%s", before, after)
		}
	})
}

// scribble overwrites what a Job could share with its settings.
func scribble(j *batchv1.Job) {
	c := &j.Spec.Template.Spec.Containers[0]
	for i := range c.Env {
		c.Env[i].Name = "SCRIBBLED"
		if c.Env[i].ValueFrom != nil {
			c.Env[i].ValueFrom.SecretKeyRef.Name = "scribbled"
		}
	}
	for name := range c.Resources.Requests {
		delete(c.Resources.Requests, name)
	}
	if c.SecurityContext.RunAsUser != nil {
		*c.SecurityContext.RunAsUser = -1
	}
	*j.Spec.Template.Spec.SecurityContext.FSGroup = -1
	for i := range j.Spec.Template.Spec.ImagePullSecrets {
		j.Spec.Template.Spec.ImagePullSecrets[i].Name = "scribbled"
	}
}

// genPolicy draws a policy whose security contexts admission lets pass.
func genPolicy(t *rapid.T) *infrav1.JobPolicy {
	p := &infrav1.JobPolicy{
		ActiveDeadlineSeconds: rapid.Int32Range(0, 86400).Draw(t, "deadline"),
		ServiceAccountName:    rapid.SampledFrom([]string{"", "runner"}).Draw(t, "account"),
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A", "HOME", "TMPDIR", "TF_LOG", "KUBE_CONFIG"}), 0, 5, rapid.ID).Draw(t, "env") {
		e := corev1.EnvVar{Name: name}
		if rapid.Bool().Draw(t, "from a Secret") {
			e.ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k"}}
		}
		p.Env = append(p.Env, e)
	}
	for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, "pull secrets") {
		p.ImagePullSecrets = append(p.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	if rapid.Bool().Draw(t, "container") {
		p.SecurityContext = &corev1.SecurityContext{
			RunAsUser:    new(rapid.Int64Range(1, 70000).Draw(t, "user")),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"KILL"}},
		}
	}
	if rapid.Bool().Draw(t, "pod") {
		p.PodSecurityContext = &corev1.PodSecurityContext{FSGroup: new(rapid.Int64Range(1, 70000).Draw(t, "group"))}
	}
	if errs := job.ValidatePolicy(&infrav1.JobPolicy{SecurityContext: p.SecurityContext, PodSecurityContext: p.PodSecurityContext}, nil); len(errs) > 0 {
		t.Fatal(errs)
	}
	return p
}
