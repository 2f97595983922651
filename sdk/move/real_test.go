package move_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
	"github.com/captf-toolkit/captf/sdk/move"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(tools.Main(m, testenv.Options{}, stopTarget))
}

// TestAgreesWithClusterctl: what the check says would move is what clusterctl writes to a directory.
func TestAgreesWithClusterctl(t *testing.T) {
	m := source(t)
	for _, file := range []string{"ours", "classes", "odd"} {
		t.Run(file, func(t *testing.T) {
			m.load(t, file, "")
			r := m.check(t, file, nil)
			want, err := m.toDirectory(t, file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, moves(r)); diff != "" || len(want) < 5 {
				t.Errorf("%d objects (-clusterctl +check):\n%s", len(want), diff)
			}
			for _, f := range found(r, move.SeverityError, move.SeverityWarning) {
				t.Log(f)
			}
		})
	}
}

// TestRefusesAsClusterctl: where clusterctl refuses to start the check has an error, and says which.
func TestRefusesAsClusterctl(t *testing.T) {
	m := source(t)
	for _, test := range []struct {
		name string
		// change is a patch of an object of the fixture minimal.
		kind, object, patch string
		status              bool
		want                string
		// fixed tells that the finding's own command fixes it.
		fixed bool
	}{
		{"nothing", "", "", "", false, "", false},
		{"paused", "Cluster", "minimal", `{"spec":{"paused":true}}`, false, "move/cluster-paused Cluster %s/minimal", true},
		{"annotated", "Cluster", "minimal", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":"true"}}}`, false, "move/cluster-paused Cluster %s/minimal", true},
		{"class-paused", "ClusterClass", "minimal", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":"true"}}}`, false, "move/class-paused ClusterClass %s/minimal", true},
		{"provisioning", "Cluster", "minimal", `{"status":{"initialization":{"infrastructureProvisioned":false}}}`, true, "move/infrastructure-not-provisioned Cluster %s/minimal", false},
		{"initializing", "Cluster", "minimal", `{"status":{"conditions":[{"type":"ControlPlaneInitialized","status":"False","reason":"No","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`, true, "move/control-plane-not-initialized Cluster %s/minimal", false},
		{"control-plane", "Cluster", "minimal", `{"spec":{"controlPlaneRef":{"apiGroup":"controlplane.cluster.x-k8s.io","kind":"KubeadmControlPlane","name":"x"}}}`, false, "move/control-plane-not-initialized Cluster %s/minimal", false},
		{"no-node", "Machine", "minimal", `{"status":{"nodeRef":null,"phase":"Provisioning"}}`, true, "move/machine-without-node Machine %s/minimal", false},
		{"lost-owner", "Machine", "minimal", `{"metadata":{"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","name":"x","uid":"44444444-0000-0000-0000-000000000000"}]}}`, false, "", false},
		{"lost-cluster", "Machine", "minimal", `{"metadata":{"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","name":"minimal","uid":"44444444-0000-0000-0000-000000000000"}]}}`, false, "move/owner-missing Machine %s/minimal", true},
		{"lost-class", "Machine", "minimal", `{"metadata":{"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"ClusterClass","name":"x","uid":"44444444-0000-0000-0000-000000000000"}]}}`, false, "move/owner-missing Machine %s/minimal", true},
		{"lost-machine", "Machine", "minimal", `{"metadata":{"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","name":"x","uid":"44444444-0000-0000-0000-000000000000"}]}}`, false, "move/owner-missing Machine %s/minimal", true},
		{"no-class", "Cluster", "minimal", `{"spec":{"topology":{"classRef":{"name":"none","namespace":"nowhere"},"version":"v1.36.0"}}}`, false, "move/class-missing ClusterClass nowhere/none", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // clusterctl tries some of them again and again
			namespace := "refuse-" + test.name
			m.load(t, "minimal", namespace)
			if test.kind != "" {
				o := &unstructured.Unstructured{}
				o.SetAPIVersion("cluster.x-k8s.io/v1beta2")
				o.SetKind(test.kind)
				o.SetName(test.object)
				o.SetNamespace(namespace)
				patch := crclient.RawPatch(types.MergePatchType, []byte(test.patch))
				write := func() error { return m.Patch(t.Context(), o, patch) }
				if test.status {
					write = func() error { return m.Status().Patch(t.Context(), o, patch) }
				}
				if err := write(); err != nil {
					t.Fatal(err)
				}
			}
			r := m.check(t, namespace, nil)
			errors := found(r, move.SeverityError)
			want, err := m.toDirectory(t, namespace)
			switch {
			case test.want == "" && err != nil:
				t.Fatalf("clusterctl refuses: %v", err)
			case test.want == "":
				if diff := cmp.Diff(want, moves(r)); diff != "" {
					t.Errorf("-clusterctl +check:\n%s", diff)
				}
			case err == nil:
				t.Errorf("clusterctl does not refuse; the check says %q", errors)
			default:
				line := strings.ReplaceAll(test.want, "%s", namespace)
				if !slices.Contains(errors, line) {
					t.Fatalf("clusterctl refuses: %v\nthe check says %q, not %q", err, errors, line)
				}
				if test.fixed {
					m.agreesAfterFixes(t, namespace)
				}
			}
		})
	}
}

// agreesAfterFixes runs the fixes of errors until there are none, and then clusterctl does what the check says.
func (m *management) agreesAfterFixes(t *testing.T, namespace string) {
	t.Helper()
	r := m.check(t, namespace, nil)
	for range 3 { // a fix may uncover something
		for _, f := range r.Findings {
			if f.Severity == move.SeverityError {
				run(t, f.Fix)
			}
		}
		if r = m.check(t, namespace, nil); r.Ready {
			break
		}
	}
	if !r.Ready {
		t.Fatalf("after the fixes: %q", found(r, move.SeverityError))
	}
	want, err := m.toDirectory(t, namespace)
	if err != nil {
		t.Fatalf("after the fixes clusterctl refuses: %v", err)
	}
	if diff := cmp.Diff(want, moves(r)); diff != "" {
		t.Errorf("after the fixes (-clusterctl +check):\n%s", diff)
	}
}

// TestFixes: owners that do not move, stale ones and circles are fixed by the findings' own commands.
func TestFixes(t *testing.T) {
	m := source(t)
	m.load(t, "odd", "fixing")
	before := moves(m.check(t, "fixing", nil))
	m.agreesAfterFixes(t, "fixing")
	after := moves(m.check(t, "fixing", nil))
	for _, name := range []string{"TerraformCluster_fixing_odd", "Secret_fixing_below", "ConfigMap_fixing_stale", "ConfigMap_fixing_lonely", "ConfigMap_fixing_of-lonely", "TerraformMachineTemplate_fixing_circle-a", "TerraformMachineTemplate_fixing_circle-b"} {
		if slices.Contains(before, name) || !slices.Contains(after, name) {
			t.Errorf("%s moves before the fixes: %v, after them: %v", name, slices.Contains(before, name), slices.Contains(after, name))
		}
	}
}

// TestOwnerElsewhere: a Secret of a provider's namespace that a Cluster of that namespace owns keeps clusterctl from moving
// any other namespace.
func TestOwnerElsewhere(t *testing.T) {
	m := source(t)
	m.load(t, "minimal", "owner-elsewhere")
	owner := read(t, "testdata/real/minimal.yaml")[0]
	owner.SetName("management")
	owner.SetNamespace("captf-system")
	m.create(t, owner)
	owned := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	owned.SetName("management-etcd")
	owned.SetNamespace("captf-system")
	owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Name: "management"}})
	m.create(t, owned)
	defer func() {
		for _, o := range []*unstructured.Unstructured{owned, owner} { // it would get in the way of every other test
			if err := m.Delete(t.Context(), o); err != nil {
				t.Error(err)
			}
		}
	}()
	errors := found(m.check(t, "owner-elsewhere", nil), move.SeverityError)
	if want := []string{"move/owner-missing Secret captf-system/management-etcd"}; !slices.Equal(errors, want) {
		t.Errorf("the check says %q, not %q", errors, want)
	}
	if _, err := m.toDirectory(t, "owner-elsewhere"); err == nil {
		t.Error("clusterctl does not refuse")
	}
}

// TestMove checks, does what the check says, moves with clusterctl, and holds the report against what has moved.
func TestMove(t *testing.T) {
	from, to := source(t), target(t)
	from.load(t, "ours", "moving")
	r := from.check(t, "moving", to)
	want := []string{
		"move/configmap-left-behind ConfigMap moving/sizes",
		"move/object-left-behind KubeadmConfigTemplate moving/workers",
		"move/object-left-behind ServiceAccount moving/jobs",
		"move/secret-left-behind Secret captf-system/ours",
		"move/secret-left-behind Secret moving/registry",
		"move/secret-left-behind Secret moving/tokens",
	}
	if diff := cmp.Diff(want, found(r, move.SeverityError)); diff != "" || r.Ready {
		t.Fatalf("ready: %v, errors (-want +got):\n%s", r.Ready, diff)
	}
	for _, f := range r.Findings {
		if f.Severity == move.SeverityError {
			run(t, f.Fix)
		}
	}
	if r = from.check(t, "moving", to); !r.Ready {
		t.Fatalf("after the fixes: %q", found(r, move.SeverityError))
	}
	var copied unstructured.Unstructured
	copied.SetAPIVersion("v1")
	copied.SetKind("Secret")
	if err := to.Get(t.Context(), crclient.ObjectKey{Namespace: "captf-system", Name: "ours"}, &copied); err != nil {
		t.Fatal(err)
	}
	if data, _, _ := unstructured.NestedString(copied.Object, "data", "TOKEN"); data == "" || len(copied.GetAnnotations()) > 0 {
		t.Errorf("the copy has data %q and annotations %v", data, copied.GetAnnotations())
	}
	if err := moveByClusterctl(t, client.MoveOptions{FromKubeconfig: from.kubeconfig(), ToKubeconfig: to.kubeconfig(), Namespace: "moving"}); err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Moves {
		if !to.has(t, o.Object) {
			t.Errorf("%s has not moved", o.Object)
		}
		if there := from.has(t, o.Object); there == o.Deleted {
			t.Errorf("%s is at the source: %v; the check says that it is deleted: %v", o.Object, there, o.Deleted)
		}
	}
	// Nothing else went away.
	for _, o := range []move.Object{{APIVersion: "v1", Kind: "Secret", Namespace: "moving", Name: "prod-blue-ca"}, {APIVersion: "v1", Kind: "Secret", Namespace: "captf-system", Name: "ours"}} {
		if !from.has(t, o) {
			t.Errorf("%s is gone", o)
		}
	}
	// Back is the same question the other way round. Status did not move, so clusterctl would refuse.
	back := to.check(t, "moving", from)
	if got := moves(back); len(got) < len(moves(r)) {
		t.Errorf("on the way back %d objects would move, not %d", len(got), len(moves(r)))
	}
	if got := found(back, move.SeverityError); !slices.Contains(got, "move/infrastructure-not-provisioned Cluster moving/prod") {
		t.Errorf("on the way back: %q", got)
	}
}

// has tells whether a management cluster has an object.
func (m *management) has(t *testing.T, o move.Object) bool {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(o.APIVersion)
	u.SetKind(o.Kind)
	err := m.Get(t.Context(), crclient.ObjectKey{Namespace: o.Namespace, Name: o.Name}, u)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// run runs a fix as a user would.
func run(t *testing.T, fix string) {
	t.Helper()
	kubectl, err := tools.Find(t.Context(), "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", fix)
	cmd.Env = append(os.Environ(), fmt.Sprintf("PATH=%s%c%s", filepath.Dir(kubectl), os.PathListSeparator, os.Getenv("PATH")))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", fix, err, out)
	}
}

// TestLarge: lists are read page by page.
func TestLarge(t *testing.T) {
	m := source(t)
	m.load(t, "minimal", "large")
	const secrets = 1201
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := worker; i < secrets; i += 8 {
				_, err := m.env.Clients().CoreV1().Secrets("large").Create(t.Context(), movingSecret(fmt.Sprintf("s-%d", i)), metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	before := len(moves(m.check(t, "refuse-nothing-else", nil)))
	r := m.check(t, "large", nil)
	if got := len(r.Moves) - before; got < secrets {
		t.Errorf("%d objects more than in an empty namespace would move, and %d Secrets are labelled", got, secrets)
	}
}

func movingSecret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"clusterctl.cluster.x-k8s.io/move": ""}}}
}
