package job

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/operation"
)

// Containers of a Job's pod.
const (
	// RunnerContainer is the init container that copies the runner.
	RunnerContainer = "runner"
	// BrokerContainer is the sidecar with the Kubernetes token (D5).
	BrokerContainer = "broker"
	// SourceContainer runs the module; its log is the run's.
	SourceContainer = operation.SourceContainer
)

// Paths in the pod, beside those of the image contract (contract/image).
const (
	// BinPath holds the runner.
	BinPath = "/captf/bin"
	// RunnerPath is the runner for the module's container.
	RunnerPath = BinPath + "/runner"
	// OwnRunnerPath is the runner in its own image.
	OwnRunnerPath = "/runner"
	// ConfigPath holds the generated root and its values.
	ConfigPath = "/captf/config"
	// BrokerPath is where the broker tells the runner how to reach it.
	BrokerPath = "/captf/broker"
	// CredentialsPath holds one file for each key of the credentials.
	CredentialsPath = "/var/run/captf/credentials" //nolint:gosec // a path
	// TokenPath holds the broker's Kubernetes token.
	TokenPath = "/var/run/secrets/kubernetes.io/serviceaccount" //nolint:gosec // a path
	// tmpPath is for temporary files.
	tmpPath = "/tmp"
)

const (
	// secretMode lets the pod's group read the files of a Secret.
	secretMode int32 = 0o440
	// tokenSeconds is how long a token is valid; kubelet renews it in time.
	tokenSeconds int64 = 3600
	// stopTimeout is what the runtime gets to finish after it was told to stop.
	stopTimeout = StopSeconds
)

// Resources of our own containers. The broker holds a state, and a plan, in memory.
const (
	runnerCPURequest    = "10m"
	runnerMemoryRequest = "32Mi"
	runnerCPULimit      = "100m"
	runnerMemoryLimit   = "64Mi"
	brokerCPURequest    = "10m"
	brokerMemoryRequest = "64Mi"
	brokerMemoryLimit   = "512Mi"
)

// pod returns the pod of the Job with the name.
func pod(s Spec, job string) corev1.PodSpec {
	security := podSecurity(s.Settings.PodSecurityContext.DeepCopy())
	return corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: new(int64(GraceSeconds)),
		ServiceAccountName:            s.Settings.ServiceAccountName,
		AutomountServiceAccountToken:  new(false),
		// Variables of the namespace's Services are no business of a module, and could take the names of its own.
		EnableServiceLinks: new(false),
		ImagePullSecrets:   slices.Clone(s.Settings.ImagePullSecrets),
		SecurityContext:    security,
		InitContainers:     []corev1.Container{runnerContainer(s), brokerContainer(s, job)},
		Containers:         []corev1.Container{sourceContainer(s, job, security)},
		Volumes:            volumes(s, job),
	}
}

// runnerContainer copies the runner to where the module's container finds it.
func runnerContainer(s Spec) corev1.Container {
	return corev1.Container{
		Name:            RunnerContainer,
		Image:           s.RunnerImage,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{OwnRunnerPath, "copy", RunnerPath},
		Resources: corev1.ResourceRequirements{
			Requests: resources(runnerCPURequest, runnerMemoryRequest),
			Limits:   resources(runnerCPULimit, runnerMemoryLimit),
		},
		SecurityContext: ownSecurity(),
		VolumeMounts:    []corev1.VolumeMount{{Name: volumeRunner, MountPath: BinPath}},
	}
}

// brokerContainer serves state and result to the runner, on loopback, as long as the pod lives.
func brokerContainer(s Spec, job string) corev1.Container {
	args := []string{
		"broker",
		"--session=" + BrokerPath,
		"--service-account-dir=" + TokenPath,
		"--namespace=" + s.Object.Namespace,
		"--state-suffix=" + contract.StateSuffix(s.Object.Role, s.Object.Namespace, s.Object.Name),
	}
	for _, label := range sortedLabels(names.StateLabels(s.Object.Role, s.Object.Name, s.Cluster)) {
		args = append(args, "--label="+label)
	}
	args = append(args, "--job="+job, "--run-secret="+names.RunSecret(job))
	if NeedsPlanKey(s.Object.Role, s.Operation) {
		args = append(args, "--plan-key-secret="+names.PlanKeySecret(s.Object.Role, s.Object.Name))
	}
	if s.Operation == infrav1.OperationApply {
		args = append(args, "--apply")
	}
	args = append(args, "--paused-by="+s.Object.Role.Kind()+"/"+s.Object.Name)
	if s.Cluster != "" {
		args = append(args, "--paused-by=Cluster/"+s.Cluster)
	}
	args = append(args, "--backups="+strconv.Itoa(s.Backups))
	if s.Events {
		args = append(args, "--event-object="+eventObject(s.Object))
	}
	return corev1.Container{
		Name:            BrokerContainer,
		Image:           s.RunnerImage,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{OwnRunnerPath},
		Args:            args,
		RestartPolicy:   new(corev1.ContainerRestartPolicyAlways),
		Env:             []corev1.EnvVar{fieldVariable("POD_NAME", "metadata.name"), fieldVariable("POD_UID", "metadata.uid")},
		Resources: corev1.ResourceRequirements{
			Requests: resources(brokerCPURequest, brokerMemoryRequest),
			Limits:   resources("", brokerMemoryLimit),
		},
		SecurityContext: ownSecurity(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeBroker, MountPath: BrokerPath},
			{Name: volumeToken, MountPath: TokenPath, ReadOnly: true},
		},
	}
}

// sourceContainer runs the module. It has no Kubernetes token.
func sourceContainer(s Spec, job string, pod *corev1.PodSecurityContext) corev1.Container {
	c := corev1.Container{
		Name:                     SourceContainer,
		Image:                    s.Image.Run,
		ImagePullPolicy:          cmp.Or(s.PullPolicy, corev1.PullIfNotPresent),
		Command:                  []string{RunnerPath, "run"},
		Args:                     runArgs(s, job),
		Env:                      environment(s),
		Resources:                *s.Settings.Resources.DeepCopy(),
		SecurityContext:          sourceSecurity(pod, s.Settings.SecurityContext.DeepCopy()),
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeRunner, MountPath: BinPath, ReadOnly: true},
			{Name: volumeWork, MountPath: image.WorkPath},
			{Name: volumeTmp, MountPath: tmpPath},
			{Name: volumeConfig, MountPath: ConfigPath, ReadOnly: true},
			{Name: volumeBroker, MountPath: BrokerPath, ReadOnly: true},
		},
	}
	if s.CredentialsSecret != "" {
		c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: s.CredentialsSecret},
		}}}
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeCredentials, MountPath: CredentialsPath, ReadOnly: true})
	}
	return c
}

// runArgs are the runner's arguments, in the order of provider-ops.md 4.2; the broker takes the place of the backend's.
func runArgs(s Spec, job string) []string {
	args := []string{
		"--op=" + string(s.Operation),
		"--bin=" + image.RuntimePath,
		"--image=" + s.Image.Run,
		"--module=" + image.ModulePath,
		"--providers=" + image.ProvidersPath,
		"--workdir=" + image.WorkPath,
		"--config=" + ConfigPath,
		fmt.Sprintf("--lock-timeout=%ds", s.Settings.LockTimeoutSeconds),
		fmt.Sprintf("--stop-timeout=%ds", stopTimeout),
		"--broker=" + BrokerPath,
	}
	if s.ForceUnlock != "" {
		args = append(args, "--force-unlock="+s.ForceUnlock)
	}
	if s.GuardDeletes {
		args = append(args, "--guard-deletes", "--inputs-hash="+s.InputsHash)
	}
	if s.AllowDeletesHash != "" {
		args = append(args, "--allow-deletes-hash="+s.AllowDeletesHash)
	}
	if s.ExpectPlan != "" {
		args = append(args, "--expect-plan="+s.ExpectPlan)
	}
	if s.Events {
		args = append(args, "--events", "--job-name="+job)
	}
	return args
}

// environment is what the Job sets, then what the policies do (B-554). A policy that sets one of the former replaces it: no
// name is given twice. The credentials come after both and lose to both.
func environment(s Spec) []corev1.EnvVar {
	fixed := []corev1.EnvVar{
		{Name: "TF_IN_AUTOMATION", Value: "1"},
		{Name: "TF_INPUT", Value: "0"},
		{Name: "HOME", Value: image.WorkPath},
		{Name: "TMPDIR", Value: tmpPath},
		{Name: "KUBE_NAMESPACE", Value: s.Object.Namespace},
		{Name: "CHECKPOINT_DISABLE", Value: "1"},
	}
	set := map[string]bool{}
	for _, e := range s.Settings.Env {
		set[e.Name] = true
	}
	env := slices.DeleteFunc(fixed, func(e corev1.EnvVar) bool { return set[e.Name] })
	for i := range s.Settings.Env {
		env = append(env, *s.Settings.Env[i].DeepCopy())
	}
	return env
}

// Names of the pod's volumes.
const (
	volumeRunner      = "runner"
	volumeWork        = "work"
	volumeTmp         = "tmp"
	volumeConfig      = "config"
	volumeBroker      = "broker"
	volumeToken       = "broker-token"
	volumeCredentials = "creds"
)

// volumes of the pod. It stays Pending until the Secret with the run's inputs exists (B-137).
func volumes(s Spec, job string) []corev1.Volume {
	out := []corev1.Volume{
		emptyVolume(volumeRunner), emptyVolume(volumeWork), emptyVolume(volumeTmp),
		secretVolume(volumeConfig, names.RunSecret(job)),
		emptyVolume(volumeBroker),
		{Name: volumeToken, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: new(secretMode),
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(tokenSeconds)}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
					Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
				}}}},
			},
		}}},
	}
	if s.CredentialsSecret != "" {
		out = append(out, secretVolume(volumeCredentials, s.CredentialsSecret))
	}
	return out
}

func emptyVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func secretVolume(name, secret string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: new(secretMode)},
	}}
}

func fieldVariable(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path},
	}}
}

func resources(cpu, memory string) corev1.ResourceList {
	out := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	if cpu != "" {
		out[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	return out
}

// eventObject names an object to the broker (B-581).
func eventObject(o Object) string {
	return fmt.Sprintf("%s/%s/%s/%s/%s", infrav1.GroupVersion, o.Role.Kind(), o.Namespace, o.Name, o.UID)
}
