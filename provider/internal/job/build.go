package job

import (
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// Build returns the Job that the spec describes (provider-ops.md 4.1).
func Build(s Spec) *batchv1.Job {
	name := s.Name()
	labels := ownerLabels(s.Object)
	labels[infrav1.LabelOperation] = string(s.Operation)
	labels[infrav1.LabelAttempt] = strconv.Itoa(s.Attempt)
	labels[infrav1.LabelCluster] = names.LabelValue(s.Cluster)
	labels[infrav1.LabelManaged] = "true"

	return &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   s.Object.Namespace,
			Name:        name,
			Labels:      labels,
			Annotations: annotations(s),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion:         infrav1.GroupVersion.String(),
				Kind:               s.Object.Role.Kind(),
				Name:               s.Object.Name,
				UID:                s.Object.UID,
				Controller:         new(true),
				BlockOwnerDeletion: new(true),
			}},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(int32(0)),
			ActiveDeadlineSeconds: new(int64(s.Settings.ActiveDeadlineSeconds)),
			// A pod that is being stopped still runs: the Job has not failed before its pod has ended, with its result.
			PodReplacementPolicy: new(batchv1.Failed),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      maps.Clone(labels),
					Annotations: map[string]string{annotationDefaultContainer: SourceContainer},
				},
				Spec: pod(s, name),
			},
		},
	}
}

// annotationDefaultContainer is the container whose log kubectl shows unless asked for another.
const annotationDefaultContainer = "kubectl.kubernetes.io/default-container"

// annotations are what bookkeeping and the next choice need to know of the Job (B-148).
func annotations(s Spec) map[string]string {
	out := map[string]string{}
	set := func(key, value string) {
		if value != "" {
			out[key] = value
		}
	}
	switch s.Operation {
	case infrav1.OperationApply, infrav1.OperationPlan, infrav1.OperationRestore:
		set(infrav1.AnnotationInputsHash, s.InputsHash)
	}
	set(infrav1.AnnotationGeneration, s.Generation)
	set(infrav1.AnnotationImageFallbacks, EncodeImages(s.Image.Fallbacks))
	if s.AfterFailedApply {
		set(infrav1.AnnotationAfterFailedApply, "true")
	}
	set(infrav1.AnnotationAfterInterruptedApply, s.AfterUnconfirmedApply)
	if len(out) == 0 {
		return nil
	}
	return out
}

// sortedLabels are labels as key=value, sorted by key.
func sortedLabels(labels map[string]string) []string {
	out := make([]string, 0, len(labels))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return out
}
