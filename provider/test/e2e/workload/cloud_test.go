package workload_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/provider/test/e2e/workload"
)

// state is a state of a no-op module.
func state(t *testing.T, role contract.Role, name, resource string, outputs, input map[string]any) *corev1.Secret {
	t.Helper()
	values := map[string]any{}
	for k, v := range outputs {
		values[k] = map[string]any{"value": v}
	}
	raw, err := json.Marshal(map[string]any{
		"version": 4, "outputs": values,
		"resources": []any{map[string]any{
			"mode": "managed", "type": "terraform_data", "name": resource, "module": "module.role",
			"instances": []any{map[string]any{"attributes": map[string]any{"input": map[string]any{"value": input}}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: contract.StateSecretName(role, "team", name), Labels: map[string]string{"tfstate": "true"}},
		Data:       map[string][]byte{"tfstate": packed.Bytes()},
	}
}

// eventually waits until the cloud is as it should be.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// TestFollow lets a cluster and its first machine come and go by their states.
func TestFollow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server, err := workload.NewServer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	port, err := server.Reserve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"/run/kubeadm/kubeadm.yaml": fmt.Sprintf("---\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 127.0.0.1:%d\n", port)}
	newAuthority(t, secret.ClusterCA).files("ca", files)
	newAuthority(t, secret.EtcdCA).files("etcd/ca", files)
	data := base64.StdEncoding.EncodeToString(cloudConfig(initCommand, files))
	sum := sha256.Sum256([]byte(data))
	of := map[string]any{"name": "prod", "namespace": "team"}
	cluster := state(t, contract.RoleCluster, "prod", "load_balancer", map[string]any{
		"control_plane_endpoint": map[string]any{"host": "127.0.0.1", "port": port},
	}, map[string]any{"cluster": of, "object": of})
	machine := state(t, contract.RoleMachine, "cp-0", "instance", map[string]any{"provider_id": "noop:///team/cp-0"}, map[string]any{
		"cluster": of, "object": map[string]any{"name": "cp-0", "namespace": "team"}, "machine_name": "cp-0", "kubernetes_version": "v1.36.1",
		"bootstrap": map[string]any{"sha256": hex.EncodeToString(sum[:])},
	})
	inputs := func(value string) *corev1.Secret {
		raw, err := json.Marshal(map[string]any{"bootstrap_data": value})
		if err != nil {
			t.Fatal(err)
		}
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: contract.AppliedSecretName(contract.RoleMachine, "cp-0")},
			Data:       map[string][]byte{"terraform.tfvars.json": raw},
		}
	}
	broken := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "broken", Labels: map[string]string{"tfstate": "true"}},
		Data:       map[string][]byte{"tfstate": []byte("garbage")},
	}
	c := fake.NewClientBuilder().WithObjects(broken, machine).Build()
	cloud := workload.Follow(ctx, server, c)
	t.Cleanup(func() {
		cloud.Stop()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	prod := types.NamespacedName{Namespace: "team", Name: "prod"}
	waits := func(words string) func() bool {
		return func() bool { return strings.Contains(strings.Join(cloud.Waiting(prod), "\n"), words) }
	}
	eventually(t, "the machine waits for its cluster", waits("cp-0 waits for the endpoint"))
	create := func(o client.Object) {
		t.Helper()
		if err := c.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	other := inputs(base64.StdEncoding.EncodeToString([]byte("#cloud-config\n")))
	create(other)
	create(cluster)
	eventually(t, "data that the module did not receive boots nothing", waits("is in no values file"))
	if err := c.Delete(ctx, other); err != nil {
		t.Fatal(err)
	}
	create(inputs(data))
	eventually(t, "the machine boots", func() bool { return len(cloud.Booted(prod)) == 1 && len(cloud.Waiting(prod)) == 0 })
	want := workload.Instance{Name: "cp-0", ProviderID: "noop:///team/cp-0", Version: "v1.36.1"}
	if got := cloud.Booted(prod)[0]; got != want {
		t.Errorf("the instance is %+v, want %+v", got, want)
	}
	nodes, err := cloud.Cluster(prod).Nodes(ctx)
	if err != nil || len(nodes) != 1 || nodes[0].Spec.ProviderID != want.ProviderID || nodes[0].Status.NodeInfo.KubeletVersion != want.Version {
		t.Errorf("the Nodes are %+v: %v", nodes, err)
	}
	// Moved to another control plane: it is there, whoever has its state.
	elsewhere := fake.NewClientBuilder().Build()
	cloud.Add(elsewhere)
	for _, o := range []*corev1.Secret{machine, cluster} {
		moved := o.DeepCopy()
		moved.ResourceVersion = ""
		if err := elsewhere.Create(ctx, moved); err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	cloud.Remove(c)
	if cloud.Cluster(prod) == nil || len(cloud.Booted(prod)) != 1 {
		t.Error("the move lost the cluster")
	}
	for _, o := range []*corev1.Secret{machine, cluster} {
		if err := elsewhere.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all is gone", func() bool { return cloud.Cluster(prod) == nil && len(cloud.Booted(prod)) == 0 })
}
