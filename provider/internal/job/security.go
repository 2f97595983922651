package job

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/captf-toolkit/captf/contract/image"
)

// podSecurity is the pod's security context (B-553): the group makes Secrets of mode 0440 readable to an image's own user.
func podSecurity(override *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	sc := &corev1.PodSecurityContext{
		FSGroup:        new(int64(image.UserID)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	overlay(sc, override)
	return sc
}

// sourceSecurity is that of the container that runs the module. The image chooses its user. The seccomp profile is the
// pod's, so that one chosen there is not hidden by our default. No override adds a capability.
func sourceSecurity(pod *corev1.PodSecurityContext, override *corev1.SecurityContext) *corev1.SecurityContext {
	sc := &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		SeccompProfile:           pod.SeccompProfile.DeepCopy(),
	}
	overlay(sc, override)
	sc.Capabilities = dropAll()
	return sc
}

// ownSecurity is that of our own containers; no policy changes it (B-550, B-558).
func ownSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             dropAll(),
		ReadOnlyRootFilesystem:   new(true),
		RunAsNonRoot:             new(true),
		RunAsUser:                new(int64(image.UserID)),
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func dropAll() *corev1.Capabilities {
	return &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
}

// overlay sets each field of base that over sets. All fields of both security contexts are pointers or lists, so that a field
// that a later Kubernetes adds is taken over too.
func overlay[T any](base, over *T) {
	if over == nil {
		return
	}
	to, from := reflect.ValueOf(base).Elem(), reflect.ValueOf(over).Elem()
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
}
