package job

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// Settings of a Job that nobody sets otherwise (provider-api.md 2.3), and those that nobody can.
const (
	// DefaultHistoryLimit is how many succeeded and how many failed Jobs are kept for each operation (B-150).
	DefaultHistoryLimit = 3
	// DefaultDeadlineSeconds is how long a Job may run (B-250).
	DefaultDeadlineSeconds = 3600
	// DefaultLockTimeoutSeconds is how long a run waits for the lock of its state (B-251).
	DefaultLockTimeoutSeconds = 300
	// DefaultCPURequest, DefaultMemoryRequest and DefaultMemoryLimit are those of the container that runs the module; there
	// is no limit of CPU (D12).
	DefaultCPURequest    = "250m"
	DefaultMemoryRequest = "512Mi"
	DefaultMemoryLimit   = "2Gi"
	// GraceSeconds is how long a pod that is stopped may take, so that the resource in flight is finished (B-143).
	GraceSeconds = 600
	// StopSeconds is what the runtime gets of it before it is killed; the rest is for the result (B-255).
	StopSeconds = GraceSeconds - 30
	// LeaseMarginSeconds is what a Lease outlives the deadline of its Job by (B-213).
	LeaseMarginSeconds = GraceSeconds + 300
)

// builtIn is where a setting comes from that no policy sets.
const builtIn = "built-in default"

// Settings are what the policies of an object and its cluster come to, with every default filled in.
type Settings struct {
	// SuccessfulJobsHistoryLimit and FailedJobsHistoryLimit are how many finished Jobs of each operation are kept.
	SuccessfulJobsHistoryLimit int32
	FailedJobsHistoryLimit     int32
	// ActiveDeadlineSeconds and LockTimeoutSeconds, and which policy they come from.
	ActiveDeadlineSeconds int32
	LockTimeoutSeconds    int32
	DeadlineFrom          string
	LockTimeoutFrom       string
	// ServiceAccountName of the pod; only the broker has its token.
	ServiceAccountName string
	// ImagePullSecrets cover the module image and the runner's.
	ImagePullSecrets []corev1.LocalObjectReference
	// Resources of the container that runs the module.
	Resources corev1.ResourceRequirements
	// Env are further variables of the container that runs the module.
	Env []corev1.EnvVar
	// DroppedEnv are names that a stored policy sets although no module may have them; admission refuses new ones (B-554).
	DroppedEnv []string
	// SecurityContext and PodSecurityContext are laid over the defaults field by field; nil leaves those.
	SecurityContext    *corev1.SecurityContext
	PodSecurityContext *corev1.PodSecurityContext
}

// Layer is one policy and, for people, where it stands.
type Layer struct {
	From   string
	Policy *infrav1.JobPolicy
}

// Layers returns the policies that apply to an object, the one that wins first (B-258): its own; for a machine or pool then
// the defaults of its cluster and the cluster's own. The cluster is nil if it is not found.
func Layers(object infrav1.Workspace, cluster *infrav1.TerraformCluster) []Layer {
	layers := []Layer{{"spec.jobs", object.Workspace().Jobs}}
	if object.Role() == contract.RoleCluster || cluster == nil {
		return layers
	}
	of := " of TerraformCluster " + cluster.Name
	if cluster.Spec.Defaults != nil {
		layers = append(layers, Layer{"spec.defaults.jobs" + of, cluster.Spec.Defaults.Jobs})
	}
	return append(layers, Layer{"spec.jobs" + of, cluster.Spec.Jobs})
}

// Resolve returns the settings of an object's Jobs.
func Resolve(object infrav1.Workspace, cluster *infrav1.TerraformCluster) Settings {
	return Merge(Layers(object, cluster)...)
}

// Merge lays policies over each other and over the built-in settings, the one that wins first (provider-api.md 2.3.3).
// Variables are merged by name and pull secrets united; resources and security contexts come whole from the first policy
// that sets them, and so does every other field. The result shares nothing with the policies.
func Merge(layers ...Layer) Settings {
	s := Settings{
		SuccessfulJobsHistoryLimit: DefaultHistoryLimit,
		FailedJobsHistoryLimit:     DefaultHistoryLimit,
		ActiveDeadlineSeconds:      DefaultDeadlineSeconds,
		LockTimeoutSeconds:         DefaultLockTimeoutSeconds,
		DeadlineFrom:               builtIn,
		LockTimeoutFrom:            builtIn,
		ServiceAccountName:         names.ServiceAccount,
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse(DefaultCPURequest),
				corev1.ResourceMemory: resource.MustParse(DefaultMemoryRequest),
			},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(DefaultMemoryLimit)},
		},
	}
	// From the lowest to the highest, so that the last one to set a field wins.
	for _, l := range slices.Backward(layers) {
		if l.Policy == nil {
			continue
		}
		p := l.Policy.DeepCopy()
		if p.SuccessfulJobsHistoryLimit != nil {
			s.SuccessfulJobsHistoryLimit = *p.SuccessfulJobsHistoryLimit
		}
		if p.FailedJobsHistoryLimit != nil {
			s.FailedJobsHistoryLimit = *p.FailedJobsHistoryLimit
		}
		if p.ActiveDeadlineSeconds != 0 {
			s.ActiveDeadlineSeconds, s.DeadlineFrom = p.ActiveDeadlineSeconds, l.From
		}
		if p.LockTimeoutSeconds != nil {
			s.LockTimeoutSeconds, s.LockTimeoutFrom = *p.LockTimeoutSeconds, l.From
		}
		if p.ServiceAccountName != "" {
			s.ServiceAccountName = p.ServiceAccountName
		}
		if p.Resources != nil {
			s.Resources = *p.Resources
		}
		if p.SecurityContext != nil {
			s.SecurityContext = p.SecurityContext
		}
		if p.PodSecurityContext != nil {
			s.PodSecurityContext = p.PodSecurityContext
		}
		s.Env = over(s.Env, p.Env, func(e corev1.EnvVar) string { return e.Name })
		s.ImagePullSecrets = over(s.ImagePullSecrets, p.ImagePullSecrets, func(r corev1.LocalObjectReference) string { return r.Name })
	}
	s.Env = slices.DeleteFunc(s.Env, func(e corev1.EnvVar) bool {
		reserved := image.ReservedVariable(e.Name)
		if reserved {
			s.DroppedEnv = append(s.DroppedEnv, e.Name)
		}
		return reserved
	})
	return s
}

// over returns the higher entries, each name once, and after them those of the lower ones whose names they lack.
func over[T any](lower, higher []T, name func(T) string) []T {
	var out []T
	seen := map[string]bool{}
	for _, list := range [][]T{higher, lower} {
		for _, e := range list {
			if !seen[name(e)] {
				seen[name(e)] = true
				out = append(out, e)
			}
		}
	}
	return out
}

// Check tells that a run would wait for the lock of its state longer than it may live (provider-api.md 2.3.1). A destroy and
// a restore are run nevertheless (B-254).
func (s Settings) Check() error {
	if s.LockTimeoutSeconds < s.ActiveDeadlineSeconds {
		return nil
	}
	return fmt.Errorf("lockTimeoutSeconds %d (%s) is not shorter than activeDeadlineSeconds %d (%s): lower the one or raise the other",
		s.LockTimeoutSeconds, s.LockTimeoutFrom, s.ActiveDeadlineSeconds, s.DeadlineFrom)
}

// Checked tells that Check decides whether a Job of the operation may start (B-254).
func Checked(op infrav1.Operation) bool {
	return op != infrav1.OperationDestroy && op != infrav1.OperationRestore
}
