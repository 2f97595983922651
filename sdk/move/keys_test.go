package move_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/secret"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/sdk/move"
)

// TestKeys holds names that are written down here against the packages that they are from.
func TestKeys(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{move.GroupCore, clusterv1.GroupVersion.Group},
		{move.Contract, clusterv1.GroupVersion.Version},
		{move.GroupAddons, addonsv1.GroupVersion.Group},
		{move.GroupInventory, clusterctlv1.GroupVersion.Group},
		{move.GroupInfrastructure, infrav1.GroupVersion.Group},
		{move.LabelClusterctl, clusterctlv1.ClusterctlLabel},
		{move.LabelMove, clusterctlv1.ClusterctlMoveLabel},
		{move.LabelMove, infrav1.LabelMove},
		{move.LabelMoveHierarchy, clusterctlv1.ClusterctlMoveHierarchyLabel},
		{move.LabelProvider, clusterv1.ProviderNameLabel},
		{move.LabelCluster, clusterv1.ClusterNameLabel},
		{move.AnnotationPaused, clusterv1.PausedAnnotation},
		{move.AnnotationBlock, clusterctlv1.BlockMoveAnnotation},
		{move.AnnotationBlock, infrav1.AnnotationBlockMove},
		{move.InfrastructureProvider, string(clusterctlv1.InfrastructureProviderType)},
		{move.LabelPlanPhase, infrav1.LabelPlanPhase},
		{strings.Join(move.FinalPlans, " "), fmt.Sprintf("%s %s %s", infrav1.PlanPhaseApplied, infrav1.PlanPhaseSuperseded, infrav1.PlanPhaseFailed)},
		{move.LabelOwnerKind, infrav1.LabelOwnerKind},
		{move.LabelOwner, infrav1.LabelOwnerName},
	} {
		if c.got != c.want {
			t.Errorf("it is %s, not %s", c.want, c.got)
		}
	}
	kinds := []clusterctlv1.ProviderType{
		clusterctlv1.CoreProviderType, clusterctlv1.BootstrapProviderType, clusterctlv1.ControlPlaneProviderType, clusterctlv1.InfrastructureProviderType,
		clusterctlv1.IPAMProviderType, clusterctlv1.RuntimeExtensionProviderType, clusterctlv1.AddonProviderType,
	}
	if got := len(move.ProviderKinds()); got != len(kinds) {
		t.Errorf("there are %d kinds of providers, not %d", len(kinds), got)
	}
	for _, kind := range kinds {
		if got, want := move.Manifest(string(kind), "x"), clusterctlv1.ManifestLabel("x", kind); got != want {
			t.Errorf("the label is %s, not %s", want, got)
		}
	}
}

// TestSecretNames: clusterctl's parser of names says the same.
func TestSecretNames(t *testing.T) {
	for _, name := range []string{
		"a-ca", "a-b-ca", "a-etcd", "a-sa", "a-proxy", "a-kubeconfig", "a-apiserver-etcd-client", "a-etcd-client", "ca", "-ca", "a-cert", "a", "a-kubeconfig-x", "",
	} {
		want, _, err := secret.ParseSecretName(name)
		got, ok := move.SecretOf(name)
		if ok != (err == nil) || got != want {
			t.Errorf("%q is of %q, %v; clusterctl says %q, %v", name, got, ok, want, err)
		}
	}
}

// TestQuote: a shell reads what was meant.
func TestQuote(t *testing.T) {
	for _, word := range []string{"", "plain-1.2/x:y=z", "two words", "it's", `a"b`, "$HOME", "`id`", "a;b", "a\nb", "*", "~", "#x", `{"a":"b"}`} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+move.Quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q: the shell reads %q, %v", word, out, err)
		}
	}
}
