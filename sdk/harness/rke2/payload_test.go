package rke2

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

// written returns the files that a cloud-config writes.
func written(t *testing.T, data []byte) map[string]string {
	t.Helper()
	if !bytes.HasPrefix(data, []byte("## template: jinja\n#cloud-config\n")) {
		t.Fatalf("no cloud-config: %.40q", data)
	}
	var doc struct {
		Files []struct{ Path, Content string } `yaml:"write_files"`
		Run   []string                         `yaml:"runcmd"`
	}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatalf("reading the cloud-config: %v", err)
	}
	if len(doc.Run) == 0 {
		t.Error("nothing is run")
	}
	out := map[string]string{}
	for _, f := range doc.Files {
		out[f.Path] = f.Content
	}
	return out
}

// configuration returns the server's or agent's configuration in a payload.
func configuration(t *testing.T, b contract.Bootstrap) map[string]any {
	t.Helper()
	config := map[string]any{}
	if err := yaml.Unmarshal([]byte(written(t, b.Data)[configPath]), &config); err != nil {
		t.Fatalf("reading %s: %v", configPath, err)
	}
	return config
}

func TestPayload(t *testing.T) {
	w := world()
	w.Spec.Version = "v1.35.2+rke2r1"
	first := &harness.Machine{ControlPlane: true, Init: true, Version: w.Spec.Version}
	second := &harness.Machine{ControlPlane: true, Server: "2001:db8::1", Version: w.Spec.Version}
	worker := &harness.Machine{Server: "10.0.0.1", Version: w.Spec.Version}
	w.Pool = &harness.Pool{Server: "api.example.com"}
	tokens := map[any]bool{}
	for name, tt := range map[string]struct {
		machine  *harness.Machine
		server   any
		material bool
	}{
		"init": {first, nil, true}, "join": {second, "https://[2001:db8::1]:9345", true},
		"worker": {worker, "https://10.0.0.1:9345", false}, "pool": {nil, "https://api.example.com:9345", false},
	} {
		b := payload(w, tt.machine, 7)
		config := configuration(t, b)
		if config["server"] != tt.server {
			t.Errorf("%s: server is %v, want %v", name, config["server"], tt.server)
		}
		if _, has := config["tls-san"]; has != tt.material {
			t.Errorf("%s: tls-san is there: %t", name, has)
		}
		if has := len(written(t, b.Data)) > 1; has != tt.material {
			t.Errorf("%s: certificates are there: %t", name, has)
		}
		if !bytes.Contains(b.Data, []byte("INSTALL_RKE2_VERSION=v1.35.2+rke2r1")) {
			t.Errorf("%s: the version is not installed", name)
		}
		tokens[config["token"]] = true
	}
	if len(tokens) != 1 || tokens[nil] {
		t.Errorf("there are %d tokens, and a cluster has one", len(tokens))
	}
	if bytes.Equal(payload(w, worker, 7).Data, payload(w, worker, 8).Data) {
		t.Error("two payloads are the same")
	}
}

func TestPackedPayload(t *testing.T) {
	w := world()
	plain := payload(w, &harness.Machine{ControlPlane: true, Init: true}, 1)
	w.Bootstrap = harness.BootstrapOptions{Gzip: true}
	packed := payload(w, &harness.Machine{ControlPlane: true, Init: true}, 1)
	if utf8.Valid(packed.Data) || packed.Format != formatCloudConfig || !bytes.Equal(unpacked(t, packed.Data), plain.Data) {
		t.Errorf("packed cloud-config is not the raw gzip of the plain one: %.20q, %s", packed.Data, packed.Format)
	}

	w.Bootstrap.Format = formatIgnition
	wrapped := payload(w, &harness.Machine{ControlPlane: true, Init: true}, 1)
	var doc struct {
		Storage struct {
			Files []struct {
				Contents struct{ Source, Compression string }
			}
		}
	}
	if err := json.Unmarshal(wrapped.Data, &doc); err != nil || len(doc.Storage.Files) != 1 || wrapped.Format != formatIgnition {
		t.Fatalf("ignition is no JSON with one file: %v", err)
	}
	contents := doc.Storage.Files[0].Contents
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(contents.Source, "data:;base64,"))
	if err != nil || contents.Compression != "gzip" || !bytes.Equal(unpacked(t, raw), plain.Data) {
		t.Errorf("the file in the ignition document is not the gzip of the plain payload: %v", err)
	}
}

func unpacked(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
