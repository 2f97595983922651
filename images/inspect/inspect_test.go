package inspect_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/inspect"
	"github.com/captf-toolkit/captf/images/source"

	"archive/tar"
)

// archive is a tar archive of empty files.
func archive(t *testing.T, names ...string) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, n := range names {
		h := &tar.Header{Name: n, Typeflag: tar.TypeReg, Mode: 0o755}
		if name, target, ok := strings.Cut(n, " -> "); ok {
			h.Name, h.Linkname, h.Typeflag = name, target, tar.TypeSymlink
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return static.NewLayer(b.Bytes(), types.OCIUncompressedLayer)
}

// open writes an index of images with the labels into a layout and opens it.
func open(t *testing.T, files []string, labels ...map[string]string) *source.Source {
	t.Helper()
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, l := range labels {
		img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
		layer := archive(t, files...)
		img, err := mutate.AppendLayers(img, layer)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		config = config.DeepCopy()
		config.OS, config.Architecture, config.Config.Labels = "linux", []string{"amd64", "arm64"}[i], l
		if img, err = mutate.ConfigFile(img, config); err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: config.Platform()}})
	}
	index = mutate.Annotations(index, map[string]string{"org.opencontainers.image.title": "a\x1b[31m title\nnext"}).(v1.ImageIndex)
	set, err := content.FromIndex(t.Context(), index)
	if err != nil {
		t.Fatal(err)
	}
	attached, err := content.NewDocument([]byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/spdx+json","config":`+
		`{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2},"layers":[],"subject":`+
		`{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"`+set.Root.Descriptor.Digest.String()+`","size":1}}`), types.OCIManifestSchema1)
	if err != nil {
		t.Fatal(err)
	}
	set.Attached = []content.Document{attached}
	dir := t.TempDir()
	if err := set.WriteLayout(t.Context(), dir, ""); err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(t.Context(), "oci:"+dir, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src
}

func TestInspect(t *testing.T) {
	good := map[string]string{
		"io.captf.role": "machinepool", "io.captf.contract": "v1alpha1", "io.captf.runtime": "terraform", "io.captf.runtime.version": "1.9.0",
		"io.captf.capacity": `{"vendor.example/gpu":"1","cpu":"4000m"}`, "io.captf.node-info": `{"operatingSystem":"linux"}`,
		"io.captf.variables-schema": `{"type":"object","properties":{"b":{},"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
		"other":                     "x",
	}
	bad := map[string]string{"io.captf.role": "node", "io.captf.capacity": "[]"}
	src := open(t, []string{
		"captf/module/main.tf", "captf/module/sub/a.tf", "captf/module/link -> main.tf", "captf/runtime -> /usr/local/bin/terraform", "usr/local/bin/terraform",
		"captf/providers/registry.example.com/acme/alpha/terraform-provider-alpha_1.0.0_linux_amd64.zip",
	}, good, bad)
	set, err := content.FromSource(t.Context(), src, true)
	if err != nil {
		t.Fatal(err)
	}
	report, err := inspect.Inspect(t.Context(), src, inspect.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, d := range set.Documents {
		text = strings.ReplaceAll(text, d.Descriptor.Digest.String(), "sha256:DOCUMENT")
	}
	golden.Assert(t, "testdata/report.txt", []byte(strings.ReplaceAll(text, src.Reference.Path, "DIR")))
	if strings.Contains(b.String(), "\x1b") {
		t.Error("a control character of the image reached the text")
	}
}

func TestShallowAndPlatform(t *testing.T) {
	src := open(t, []string{"x"}, nil, nil)
	report, err := inspect.Inspect(t.Context(), src, inspect.Options{Shallow: true, Platform: &v1.Platform{OS: "linux", Architecture: "arm64"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Platforms) != 1 || report.Platforms[0].Platform != "linux/arm64" || report.Platforms[0].Runtime != nil || len(report.Platforms[0].Problems) > 0 {
		t.Errorf("the report is %+v", report)
	}
	if _, err := inspect.Inspect(t.Context(), src, inspect.Options{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}); err == nil {
		t.Error("there is no s390x")
	}
	deep, err := inspect.Inspect(t.Context(), src, inspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/captf/runtime is missing"}, deep.Platforms[0].Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
