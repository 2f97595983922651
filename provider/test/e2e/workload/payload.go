package workload

import (
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/yaml"
)

// Payload is the bootstrap data of the kubeadm bootstrap provider, as far as it decides whether a Node joins. Either Init or
// Join is set.
type Payload struct {
	Init  *Init
	Join  *Join
	files map[string]string
}

// Init is kubeadm's ClusterConfiguration.
type Init struct {
	ControlPlaneEndpoint string `json:"controlPlaneEndpoint"`
	Version              string `json:"kubernetesVersion"`
	Text                 string `json:"-"`
}

// Join is kubeadm's JoinConfiguration.
type Join struct {
	ControlPlane *struct{} `json:"controlPlane"`
	Discovery    struct {
		BootstrapToken struct {
			APIServerEndpoint string   `json:"apiServerEndpoint"`
			Token             string   `json:"token"`
			CACertHashes      []string `json:"caCertHashes"`
		} `json:"bootstrapToken"`
	} `json:"discovery"`
}

// Files of kubeadm's configuration, and the directory of authorities, by the kubeadm bootstrap provider.
const (
	initFile = "/run/kubeadm/kubeadm.yaml"
	joinFile = "/run/kubeadm/kubeadm-join-config.yaml"
	pkiDir   = "/etc/kubernetes/pki/"
)

// ReadPayload reads decoded bootstrap data in cloud-config form, and refuses one that runs no kubeadm.
func ReadPayload(text []byte) (*Payload, error) {
	if !strings.HasPrefix(string(text), "## template: jinja\n#cloud-config") && !strings.HasPrefix(string(text), "#cloud-config") {
		return nil, errors.New("reading bootstrap data: it is no cloud-config")
	}
	var config struct {
		WriteFiles []struct{ Path, Content string } `json:"write_files"`
		RunCmd     []any                            `json:"runcmd"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, errors.New("reading bootstrap data: it is no YAML") // the error would show it
	}
	p := &Payload{files: map[string]string{}}
	for _, f := range config.WriteFiles {
		p.files[f.Path] = f.Content
	}
	commands := fmt.Sprint(config.RunCmd...)
	switch {
	case strings.Contains(commands, "kubeadm init --config "+initFile):
		p.Init = &Init{}
		return p, p.config(initFile, "ClusterConfiguration", p.Init)
	case strings.Contains(commands, "kubeadm join --config "+joinFile):
		p.Join = &Join{}
		return p, p.config(joinFile, "JoinConfiguration", p.Join)
	default:
		return nil, errors.New("reading bootstrap data: it runs neither kubeadm init nor kubeadm join")
	}
}

// config reads a document of a file by its kind.
func (p *Payload) config(file, kind string, into any) error {
	for document := range strings.SplitSeq("\n"+p.files[file], "\n---") {
		var meta struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &meta); err != nil || meta.Kind != kind {
			continue
		}
		if i, ok := into.(*Init); ok {
			i.Text = strings.TrimSpace(document) + "\n"
		}
		if err := yaml.Unmarshal([]byte(document), into); err != nil {
			return fmt.Errorf("reading bootstrap data: %s has a wrong %s", file, kind)
		}
		return nil
	}
	return fmt.Errorf("reading bootstrap data: %s has no %s", file, kind)
}

// ControlPlane tells that the instance gets a control plane.
func (p *Payload) ControlPlane() bool {
	return p.Init != nil || p.Join != nil && p.Join.ControlPlane != nil
}

// authority is one of the pairs of certificate and key that control planes are given.
func (p *Payload) authority(name string) (*x509.Certificate, *rsa.PrivateKey, error) {
	cert, err := certs.DecodeCertPEM([]byte(p.files[pkiDir+name+".crt"]))
	if err != nil || cert == nil {
		return nil, nil, fmt.Errorf("the bootstrap data has no certificate %s%s.crt", pkiDir, name)
	}
	signer, err := certs.DecodePrivateKeyPEM([]byte(p.files[pkiDir+name+".key"]))
	if err != nil {
		return nil, nil, fmt.Errorf("the bootstrap data has no key %s%s.key", pkiDir, name)
	}
	key, ok := signer.(*rsa.PrivateKey)
	if !ok {
		return nil, nil, fmt.Errorf("the key %s%s.key of the bootstrap data is no RSA key", pkiDir, name)
	}
	return cert, key, nil
}
