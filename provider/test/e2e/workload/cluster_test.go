package workload_test

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"testing"

	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/cluster-api/util/secret"

	"github.com/captf-toolkit/captf/provider/test/e2e/workload"
)

// indent fits a text into a block of a cloud-config.
func indent(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ") + "\n"
}

// cloudConfig is bootstrap data with files and a command.
func cloudConfig(command string, files map[string]string) []byte {
	out := "## template: jinja\n#cloud-config\nwrite_files:\n"
	for path, text := range files {
		out += "-   path: " + path + "\n    content: |\n" + indent(text)
	}
	return []byte(out + "runcmd:\n  - '" + command + "'\n")
}

const (
	initCommand = "kubeadm init --config /run/kubeadm/kubeadm.yaml  && echo success"
	joinCommand = "kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success"
)

// authority is a new authority.
type authority struct {
	cert *x509.Certificate
	key  *rsa.PrivateKey
}

func newAuthority(t *testing.T, purpose secret.Purpose) authority {
	t.Helper()
	c := &secret.Certificate{Purpose: purpose}
	if err := c.Generate(); err != nil {
		t.Fatal(err)
	}
	cert, err := certs.DecodeCertPEM(c.KeyPair.Cert)
	if err != nil {
		t.Fatal(err)
	}
	key, err := certs.DecodePrivateKeyPEM(c.KeyPair.Key)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert: cert, key: key.(*rsa.PrivateKey)}
}

func (a authority) files(name string, into map[string]string) {
	into["/etc/kubernetes/pki/"+name+".crt"] = string(certs.EncodeCertPEM(a.cert))
	into["/etc/kubernetes/pki/"+name+".key"] = string(certs.EncodePrivateKeyPEM(a.key))
}

func (a authority) pin() string {
	sum := sha256.Sum256(a.cert.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func payload(t *testing.T, text []byte) *workload.Payload {
	t.Helper()
	p, err := workload.ReadPayload(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBoot lets instances boot that kubeadm would refuse, and some that it would not.
func TestBoot(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server, err := workload.NewServer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := server.Serve(ctx, "team/stolen", workload.Endpoint{Host: workload.Host, Port: 1}); err == nil || !strings.Contains(err.Error(), "nobody reserved 127.0.0.1:1") {
		t.Errorf("a port that nobody reserved: %v", err)
	}
	port, err := server.Reserve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	at := workload.Endpoint{Host: workload.Host, Port: port}
	cluster, err := server.Serve(ctx, "team/prod", at)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(c *tls.Config) (net.Conn, error) {
		return (&tls.Dialer{Config: c}).DialContext(ctx, "tcp", at.String())
	}
	ca, etcd, other := newAuthority(t, secret.ClusterCA), newAuthority(t, secret.EtcdCA), newAuthority(t, secret.ClusterCA)
	kubeadm := func(endpoint string, ca *authority) []byte {
		files := map[string]string{"/run/kubeadm/kubeadm.yaml": "---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: " + endpoint +
			"\nkubernetesVersion: v1.36.1\n---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n"}
		if ca != nil {
			ca.files("ca", files)
		}
		etcd.files("etcd/ca", files)
		return cloudConfig(initCommand, files)
	}
	join := func(endpoint, token, pin string, controlPlane *authority) []byte {
		text := fmt.Sprintf("---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ndiscovery:\n  bootstrapToken:\n    apiServerEndpoint: %s\n    token: %s\n    caCertHashes: [%q]\n",
			endpoint, token, pin)
		files := map[string]string{}
		if controlPlane != nil {
			text += "controlPlane: {}\n"
			controlPlane.files("ca", files)
			etcd.files("etcd/ca", files)
		}
		files["/run/kubeadm/kubeadm-join-config.yaml"] = text
		return cloudConfig(joinCommand, files)
	}
	const token = "abcdef.0123456789abcdef"
	for i, c := range []struct {
		name, want string
		text       []byte
		before     func()
	}{
		{name: "join without a control plane", text: join(at.String(), token, ca.pin(), nil), want: "nobody answers"},
		{name: "init for another endpoint", text: kubeadm("elsewhere.invalid:6443", &ca), want: "the module's is " + at.String()},
		{name: "init without an authority", text: kubeadm(at.String(), nil), want: "no certificate /etc/kubernetes/pki/ca.crt"},
		{name: "init", text: kubeadm(at.String(), &ca), before: func() {
			if _, err := dial(&tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}); err == nil {
				t.Error("an API server answers before there is one")
			}
		}},
		{name: "init once more", text: kubeadm(at.String(), &ca), want: "second cluster"},
		{name: "join elsewhere", text: join("elsewhere.invalid:6443", token, ca.pin(), nil), want: "elsewhere.invalid:6443"},
		{name: "join another cluster", text: join(at.String(), token, other.pin(), nil), want: "authority"},
		{name: "join without a token", text: join(at.String(), token, ca.pin(), nil), want: "does not know the token abcdef"},
		{name: "join", text: join(at.String(), token, ca.pin(), nil), before: func() { cluster.AddToken(t, token) }},
		{name: "join with a wrong token", text: join(at.String(), "abcdef.fedcba9876543210", ca.pin(), nil), want: "not the cluster's"},
		{name: "join a control plane of another cluster", text: join(at.String(), token, ca.pin(), &other), want: "not that of the cluster"},
		{name: "join a control plane", text: join(at.String(), token, ca.pin(), &ca)},
	} {
		if c.before != nil {
			c.before()
		}
		err := cluster.Boot(ctx, workload.Instance{Name: fmt.Sprintf("host-%d", i), ProviderID: fmt.Sprintf("noop:///%d", i), Version: "v1.36.1"}, payload(t, c.text))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	for _, name := range []string{"localhost", "etcd-host-3", "etcd-host-11"} {
		config := &tls.Config{ServerName: name, RootCAs: roots, MinVersion: tls.VersionTLS12}
		if strings.HasPrefix(name, "etcd-") {
			config.RootCAs = x509.NewCertPool()
			config.RootCAs.AddCert(etcd.cert)
		}
		conn, err := dial(config)
		if err != nil {
			t.Errorf("%s: %s", name, err)
			continue
		}
		_ = conn.Close()
	}
	names := func() string {
		nodes, err := cluster.Nodes(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for i := range nodes {
			out = append(out, nodes[i].Name+"="+nodes[i].Spec.ProviderID)
		}
		return strings.Join(out, " ")
	}
	if got, want := names(), "host-11=noop:///11 host-3=noop:///3 host-8=noop:///8"; got != want {
		t.Errorf("the Nodes are %s, want %s", got, want)
	}
	if err := cluster.Leave(ctx, "host-8"); err != nil {
		t.Fatal(err)
	}
	if got, want := names(), "host-11=noop:///11 host-3=noop:///3"; got != want {
		t.Errorf("the Nodes are %s, want %s", got, want)
	}
}

// TestPayloadRefused lets bootstrap data be what no Node comes of.
func TestPayloadRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"ignition":         {[]byte(`{"ignition":{"version":"3.0.0"}}`), "no cloud-config"},
		"no YAML":          {[]byte("#cloud-config\n{"), "no YAML"},
		"no kubeadm":       {cloudConfig("echo hello", nil), "neither kubeadm init nor kubeadm join"},
		"no configuration": {cloudConfig(initCommand, nil), "/run/kubeadm/kubeadm.yaml has no ClusterConfiguration"},
		"a wrong one":      {cloudConfig(joinCommand, map[string]string{"/run/kubeadm/kubeadm-join-config.yaml": "kind: JoinConfiguration\ndiscovery: 1"}), "wrong JoinConfiguration"},
	} {
		if _, err := workload.ReadPayload(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
