package rke2

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

// certificateBytes is the size of the key and certificate material that each
// file of a control-plane payload stands for.
const certificateBytes = 1100

// Bootstrap formats.
const (
	formatCloudConfig = "cloud-config"
	formatIgnition    = "ignition"
)

// Paths that the bootstrap provider writes to.
const (
	configPath = "/etc/rancher/rke2/config.yaml"
	tlsPath    = "/var/lib/rancher/rke2/server/tls/"
)

// file is one file that a payload writes.
type file struct{ path, content string }

// payload makes bootstrap data of the shape and size that CAPRKE2 writes: the
// first control-plane machine gets a configuration without a server, everything
// that joins one with the server's URL, and all of them the one token of the
// cluster (control-planes.md 3.4). The material is random and opens nothing.
func payload(w *harness.World, m *harness.Machine, nonce uint64) contract.Bootstrap {
	rng := rand.New(rand.NewPCG(nonce, 1)) //nolint:gosec // it only has to differ from payload to payload
	files := []file{{configPath, config(w, m, rng)}}
	service := "rke2-agent"
	if m != nil && m.ControlPlane {
		service = "rke2-server"
		for _, name := range []string{"server-ca", "client-ca", "request-header-ca", "etcd/server-ca", "etcd/peer-ca"} {
			files = append(files, file{tlsPath + name + ".crt", material(rng)}, file{tlsPath + name + ".key", material(rng)})
		}
	}
	version := w.Spec.Version
	if m != nil {
		version = m.Version
	}
	commands := []string{
		fmt.Sprintf("curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION=%s INSTALL_RKE2_TYPE=%s sh -s -", version, strings.TrimPrefix(service, "rke2-")),
		"systemctl enable --now " + service,
		"mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete",
	}
	if w.Bootstrap.Format == formatIgnition {
		return contract.Bootstrap{Data: ignition(cloudConfig(files, commands), w.Bootstrap.Gzip), Format: formatIgnition}
	}
	data := cloudConfig(files, commands)
	if w.Bootstrap.Gzip {
		data = pack(data)
	}
	return contract.Bootstrap{Data: data, Format: formatCloudConfig}
}

// config is the server's or agent's config.yaml.
func config(w *harness.World, m *harness.Machine, rng *rand.Rand) string {
	var b strings.Builder
	if m == nil || !m.Init {
		fmt.Fprintf(&b, "server: %s\n", joinURL(serverOf(w, m)))
	}
	fmt.Fprintf(&b, "token: %s\n", token(w))
	if m != nil && m.ControlPlane {
		fmt.Fprintf(&b, "tls-san:\n  - %s\ncluster-cidr: 192.168.0.0/16\nservice-cidr: 10.128.0.0/12\n", endpointHost(w))
	}
	fmt.Fprintf(&b, "# %s\n", hexOf(rng, 8))
	return b.String()
}

// serverOf returns the host that a joining node's data names: the one that was
// chosen for it, else the first that there is. Data that nothing joins with, as
// that of a probe, may name the endpoint.
func serverOf(w *harness.World, m *harness.Machine) string {
	switch {
	case m != nil && m.Server != "":
		return m.Server
	case m == nil && w.Pool != nil && w.Pool.Server != "":
		return w.Pool.Server
	case len(w.ControlPlane.Servers) > 0:
		return w.ControlPlane.Servers[0]
	}
	return endpointHost(w)
}

func endpointHost(w *harness.World) string {
	if w.Cluster.Endpoint == nil {
		return "endpoint.invalid"
	}
	return w.Cluster.Endpoint.Host
}

// token is the one of the Secret <cluster>-token, made once for a cluster.
func token(w *harness.World) string {
	sum := sha256.Sum256([]byte(w.Cluster.Namespace + "/" + w.Cluster.Name + "-token"))
	return hex.EncodeToString(sum[:])
}

// cloudConfig writes files and commands as cloud-config.
func cloudConfig(files []file, commands []string) []byte {
	var b bytes.Buffer
	b.WriteString("## template: jinja\n#cloud-config\n\nwrite_files:\n")
	for _, f := range files {
		fmt.Fprintf(&b, "-   path: %s\n    owner: root:root\n    permissions: '0640'\n    content: |\n", f.path)
		for line := range strings.Lines(f.content) {
			b.WriteString("      " + line)
		}
	}
	b.WriteString("runcmd:\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  - '%s'\n", c)
	}
	return b.Bytes()
}

// ignition wraps a cloud-config in an Ignition document. Packed, the document
// itself stays text: the file in it is what is packed (control-planes.md 3.4 gzip).
func ignition(inner []byte, packed bool) []byte {
	contents := map[string]any{"source": "data:;base64," + base64.StdEncoding.EncodeToString(inner)}
	if packed {
		contents["compression"] = "gzip"
		contents["source"] = "data:;base64," + base64.StdEncoding.EncodeToString(pack(inner))
	}
	raw, err := json.Marshal(map[string]any{
		"ignition": map[string]any{"version": "3.4.0"},
		"storage": map[string]any{"files": []any{map[string]any{
			"path": "/etc/cloud/cloud.cfg.d/50-rke2.cfg", "mode": 0o640, "contents": contents,
		}}},
	})
	if err != nil {
		panic(err) // plain data
	}
	return raw
}

// pack packs data with gzip. Equal data packs equally: no name, no time.
func pack(data []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	// Writing to memory does not fail.
	_, _ = z.Write(data)
	_ = z.Close()
	return out.Bytes()
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
