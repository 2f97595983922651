package kcp

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

// certificateBytes is the size of the key and certificate material that each
// entry of a control-plane payload stands for.
const certificateBytes = 1100

// payload makes cloud-config of the shape and size that the kubeadm bootstrap
// provider writes: a control-plane machine gets the cluster's certificates and
// keys, a worker or a pool a join configuration (control-planes.md 2.10). The
// material is random and opens nothing.
func payload(w *harness.World, m *harness.Machine, nonce uint64) contract.Bootstrap {
	rng := rand.New(rand.NewPCG(nonce, 1)) //nolint:gosec // it only has to differ from payload to payload
	var b strings.Builder
	b.WriteString("## template: jinja\n#cloud-config\n\nwrite_files:\n")
	controlPlane := m != nil && m.ControlPlane
	if controlPlane {
		for _, name := range []string{"ca", "etcd/ca", "front-proxy-ca", "sa"} {
			writeFile(&b, "/etc/kubernetes/pki/"+name+".crt", material(rng))
			writeFile(&b, "/etc/kubernetes/pki/"+name+".key", material(rng))
		}
	}
	config, command := "JoinConfiguration", "join"
	if m != nil && m.Init {
		config, command = "ClusterConfiguration", "init"
	}
	endpoint := w.Cluster.Endpoint
	writeFile(&b, "/run/kubeadm/kubeadm.yaml", fmt.Sprintf(
		"apiVersion: kubeadm.k8s.io/v1beta4\nkind: %s\ncontrolPlaneEndpoint: %s:%d\ntoken: %s\nkubernetesVersion: %s\n",
		config, endpoint.Host, endpoint.Port, hexOf(rng, 8), w.Spec.Version))
	fmt.Fprintf(&b, "runcmd:\n  - 'kubeadm %s --config /run/kubeadm/kubeadm.yaml && echo success > /run/cluster-api/bootstrap-success.complete'\n", command)
	return contract.Bootstrap{Data: []byte(b.String()), Format: "cloud-config"}
}

func writeFile(b *strings.Builder, path, content string) {
	fmt.Fprintf(b, "-   path: %s\n    owner: root:root\n    permissions: '0640'\n    content: |\n", path)
	for line := range strings.Lines(content) {
		b.WriteString("      " + line)
	}
	if !strings.HasSuffix(content, "\n") {
		b.WriteString("\n")
	}
}

// material stands for one certificate or key.
func material(rng *rand.Rand) string {
	var b strings.Builder
	for b.Len() < certificateBytes {
		b.WriteString(hexOf(rng, 32) + "\n")
	}
	return b.String()
}

func hexOf(rng *rand.Rand, n int) string {
	raw := make([]byte, n)
	for i := range raw {
		raw[i] = byte(rng.IntN(256)) //nolint:gosec // below 256
	}
	return hex.EncodeToString(raw)
}
