package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/captf-toolkit/captf/contract/image"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// seLinuxTypes are the types that Pod Security's baseline knows; unset is fine too.
var seLinuxTypes = []string{"container_t", "container_init_t", "container_kvm_t", "container_engine_t"}

// safeSysctls are those that Pod Security's baseline allows.
var safeSysctls = []string{
	"kernel.shm_rmid_forced",
	"net.ipv4.ip_local_port_range",
	"net.ipv4.ip_local_reserved_ports",
	"net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ping_group_range",
	"net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_keepalive_intvl",
	"net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_keepalive_time",
	"net.ipv4.tcp_rmem",
	"net.ipv4.tcp_syncookies",
	"net.ipv4.tcp_wmem",
}

// ValidatePolicy returns what admission refuses in one policy beyond what its schema does: a lock timeout that is not shorter
// than the deadline (provider-api.md 2.3.1), variables that no module may have (2.3), and security contexts that would let a
// module out of its container (2.3.2). All of it is returned at once.
func ValidatePolicy(policy *infrav1.JobPolicy, path *field.Path) field.ErrorList {
	if policy == nil {
		return nil
	}
	var errs field.ErrorList
	errs = append(errs, validateTimes(policy, path)...)
	for i, e := range policy.Env {
		if image.ReservedVariable(e.Name) {
			errs = append(errs, field.Invalid(path.Child("env").Index(i).Child("name"), e.Name,
				"names that start with TF_ or KUBE_ would change how the module is run; use spec.variables for inputs of the module"))
		}
	}
	if policy.Resources != nil {
		errs = append(errs, validateResources(policy.Resources, path.Child("resources"))...)
	}
	if sc := policy.SecurityContext; sc != nil {
		errs = append(errs, validateContainer(sc, path.Child("securityContext"))...)
	}
	if sc := policy.PodSecurityContext; sc != nil {
		errs = append(errs, validatePod(sc, path.Child("podSecurityContext"))...)
	}
	return errs
}

// validateResources finds requests above limits, with which no pod can be made.
func validateResources(r *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		if limit, ok := r.Limits[name]; ok && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(path.Child("requests").Key(string(name)), request.String(),
				fmt.Sprintf("it is more than the limit of %s: lower it or raise the limit", limit.String())))
		}
	}
	return errs
}

// validateTimes judges one policy against the built-in settings; policies together are judged when a Job is due.
func validateTimes(policy *infrav1.JobPolicy, path *field.Path) field.ErrorList {
	err := Merge(Layer{From: "set here", Policy: policy}).Check()
	switch {
	case err == nil:
		return nil
	case policy.LockTimeoutSeconds != nil:
		return field.ErrorList{field.Invalid(path.Child("lockTimeoutSeconds"), *policy.LockTimeoutSeconds, err.Error())}
	default:
		return field.ErrorList{field.Invalid(path.Child("activeDeadlineSeconds"), policy.ActiveDeadlineSeconds, err.Error())}
	}
}

func validateContainer(sc *corev1.SecurityContext, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if isTrue(sc.Privileged) {
		errs = append(errs, field.Forbidden(path.Child("privileged"), "a module must not be privileged"))
	}
	if isTrue(sc.AllowPrivilegeEscalation) {
		errs = append(errs, field.Forbidden(path.Child("allowPrivilegeEscalation"), "a module must not gain privileges"))
	}
	if sc.Capabilities != nil && len(sc.Capabilities.Add) > 0 {
		errs = append(errs, field.Forbidden(path.Child("capabilities", "add"), "all capabilities are dropped and none can be added"))
	}
	if isFalse(sc.ReadOnlyRootFilesystem) {
		errs = append(errs, field.Forbidden(path.Child("readOnlyRootFilesystem"),
			"the root filesystem stays read-only; a module writes to "+image.WorkPath+" and /tmp"))
	}
	if sc.ProcMount != nil && *sc.ProcMount == corev1.UnmaskedProcMount {
		errs = append(errs, field.Forbidden(path.Child("procMount"), "/proc stays masked"))
	}
	return append(errs, validateCommon(path, common{
		sc.RunAsUser, sc.RunAsNonRoot, sc.SeccompProfile, sc.AppArmorProfile, sc.WindowsOptions, sc.SELinuxOptions,
	})...)
}

func validatePod(sc *corev1.PodSecurityContext, path *field.Path) field.ErrorList {
	errs := validateCommon(path, common{
		sc.RunAsUser, sc.RunAsNonRoot, sc.SeccompProfile, sc.AppArmorProfile, sc.WindowsOptions, sc.SELinuxOptions,
	})
	for i, s := range sc.Sysctls {
		if !slices.Contains(safeSysctls, s.Name) {
			errs = append(errs, field.NotSupported(path.Child("sysctls").Index(i).Child("name"), s.Name, safeSysctls))
		}
	}
	return errs
}

// common are the fields that the two security contexts share.
type common struct {
	runAsUser    *int64
	runAsNonRoot *bool
	seccomp      *corev1.SeccompProfile
	appArmor     *corev1.AppArmorProfile
	windows      *corev1.WindowsSecurityContextOptions
	seLinux      *corev1.SELinuxOptions
}

func validateCommon(path *field.Path, c common) field.ErrorList {
	var errs field.ErrorList
	if c.runAsUser != nil && *c.runAsUser == 0 {
		errs = append(errs, field.Forbidden(path.Child("runAsUser"), "a module must not be run as root"))
	}
	if isFalse(c.runAsNonRoot) {
		errs = append(errs, field.Forbidden(path.Child("runAsNonRoot"), "a module must not be allowed to run as root; leave it unset or true"))
	}
	if c.seccomp != nil && c.seccomp.Type == corev1.SeccompProfileTypeUnconfined {
		errs = append(errs, field.Forbidden(path.Child("seccompProfile", "type"), "a seccomp profile is required: RuntimeDefault or Localhost"))
	}
	if c.appArmor != nil && c.appArmor.Type == corev1.AppArmorProfileTypeUnconfined {
		errs = append(errs, field.Forbidden(path.Child("appArmorProfile", "type"), "an AppArmor profile is required: RuntimeDefault or Localhost"))
	}
	if c.windows != nil && isTrue(c.windows.HostProcess) {
		errs = append(errs, field.Forbidden(path.Child("windowsOptions", "hostProcess"), "a module must not be a process of its host"))
	}
	if o := c.seLinux; o != nil {
		path := path.Child("seLinuxOptions")
		if o.Type != "" && !slices.Contains(seLinuxTypes, o.Type) {
			errs = append(errs, field.Invalid(path.Child("type"), o.Type,
				fmt.Sprintf("a module's type is unset or one of %s", strings.Join(seLinuxTypes, ", "))))
		}
		if o.User != "" {
			errs = append(errs, field.Forbidden(path.Child("user"), "a module must not choose its SELinux user"))
		}
		if o.Role != "" {
			errs = append(errs, field.Forbidden(path.Child("role"), "a module must not choose its SELinux role"))
		}
	}
	return errs
}

func isTrue(b *bool) bool  { return b != nil && *b }
func isFalse(b *bool) bool { return b != nil && !*b }
