package publish_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/publish"
	"github.com/captf-toolkit/captf/images/source"
)

const (
	title = "org.opencontainers.image.title"
	docs  = "org.opencontainers.image.documentation"
)

var changes = publish.Changes{
	Labels:       map[string]string{"io.captf.capacity": `{"cpu":"4"}`, docs: "https://example.com/?a=1&b=<2>"},
	RemoveLabels: []string{title},
	Annotations:  map[string]string{"com.example.build": "7"},
}

var wantLabels = map[string]string{"io.captf.role": "machine", "io.captf.capacity": `{"cpu":"4"}`, docs: "https://example.com/?a=1&b=<2>"}

var wantAnnotations = map[string]string{docs: "https://example.com/?a=1&b=<2>", "com.example.build": "7"}

// checkRelabelled compares the labels and annotations of every platform.
func checkRelabelled(t *testing.T, idx v1.ImageIndex) {
	t.Helper()
	if err := validate.Index(idx); err != nil {
		t.Error(err)
	}
	m, err := idx.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantAnnotations, m.Annotations); diff != "" {
		t.Errorf("annotations of the index (-want +got):\n%s", diff)
	}
	if len(m.Manifests) != 2 {
		t.Errorf("there are %d platforms", len(m.Manifests))
	}
	for _, d := range m.Manifests {
		img, err := idx.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantLabels, config.Config.Labels); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", d.Platform, diff)
		}
		manifest, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantAnnotations, manifest.Annotations); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", d.Platform, diff)
		}
	}
}

func TestRelabelRegistry(t *testing.T) {
	s := newServer(t)
	tag := s.tag(t, "mod:v1")
	set := setOf(t, index(t))
	var layers []string
	for _, b := range set.Blobs {
		if b.Descriptor.MediaType.IsLayer() {
			layers = append(layers, b.Descriptor.Digest.String())
		}
	}
	before, err := publish.Publish(t.Context(), set, []name.Tag{tag}, quick(t))
	if err != nil {
		t.Fatal(err)
	}
	attached := attach(t, v1.Descriptor{MediaType: types.OCIImageIndex, Digest: before.Digest, Size: 1}, "signature")
	h, err := attached.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag.Context().Digest(h.String()), attached); err != nil {
		t.Fatal(err)
	}
	s.seen()
	result, err := publish.Relabel(t.Context(), tag.Name(), nil, changes, quick(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.seen() {
		for _, l := range layers {
			if strings.HasSuffix(r.path, l) {
				t.Errorf("a layer was asked for: %v", r)
			}
		}
	}
	if result.Old != before.Digest || result.New == result.Old || len(result.Platforms) != 2 || result.Platforms[0].Platform != "linux/amd64" {
		t.Errorf("the result is %+v", result)
	}
	if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "sign it again") {
		t.Errorf("warnings are %q", result.Warnings)
	}
	if got := digest(t, tag); got != result.New.String() {
		t.Errorf("the tag is %s, want %s", got, result.New)
	}
	idx, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	checkRelabelled(t, idx)

	again, err := publish.Relabel(t.Context(), tag.Name(), nil, changes, quick(t))
	if err != nil {
		t.Fatal(err)
	}
	if again.New != again.Old || again.New != result.New {
		t.Errorf("the same change again made %s of %s", again.New, again.Old)
	}
	if _, err := publish.Relabel(t.Context(), tag.Context().Digest(result.New.String()).Name(), nil, changes, quick(t)); !errors.Is(err, source.ErrReference) {
		t.Errorf("of a digest without a tag: got error %v", err)
	}
	if _, err := publish.Relabel(t.Context(), tag.Name(), []name.Tag{s.tag(t, "elsewhere:v1")}, changes, quick(t)); !errors.Is(err, source.ErrReference) {
		t.Errorf("to another repository: got error %v", err)
	}
}

func TestRelabelLayout(t *testing.T) {
	for _, refName := range []string{"v1", ""} {
		t.Run("name "+refName, func(t *testing.T) {
			dir := t.TempDir()
			idx := index(t)
			set := setOf(t, idx)
			if err := set.WriteLayout(t.Context(), dir, refName); err != nil {
				t.Fatal(err)
			}
			ref := strings.TrimSuffix("oci:"+dir+":"+refName, ":")
			result, err := publish.Relabel(t.Context(), ref, nil, changes, quick(t))
			if err != nil {
				t.Fatal(err)
			}
			src, err := source.Open(t.Context(), ref, source.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			if src.Digest != result.New {
				t.Errorf("the layout has %s, want %s", src.Digest, result.New)
			}
			// Everything is there: it can be published.
			changed, err := content.FromSource(t.Context(), src, true)
			if err != nil {
				t.Fatal(err)
			}
			s := newServer(t)
			tag := s.tag(t, "mod:v1")
			if _, err := publish.Publish(t.Context(), changed, []name.Tag{tag}, quick(t)); err != nil {
				t.Fatal(err)
			}
			pulled, err := remote.Index(tag)
			if err != nil {
				t.Fatal(err)
			}
			checkRelabelled(t, pulled)
		})
	}
}

// TestRelabelKeepsUnknown makes sure that fields that no library knows survive.
func TestRelabelKeepsUnknown(t *testing.T) {
	set := &content.Set{}
	doc := func(text string, mediaType types.MediaType) content.Document {
		d, err := content.NewDocument([]byte(text), mediaType)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	blob := func(text string, mediaType types.MediaType) v1.Descriptor {
		d := doc(text, mediaType).Descriptor
		set.Blobs = append(set.Blobs, content.Blob{Descriptor: d, Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}})
		return d
	}
	config := blob(`{"os":"linux", "architecture":"amd64","x-config":{"n":1.50},"config":{"Env":["A=b"],"x-inner":[ ]},"rootfs":{"type":"layers","diff_ids":[]}}`, types.OCIConfigJSON)
	manifest := doc(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","x-manifest":"<&>","config":{"mediaType":"`+
		string(config.MediaType)+`","size":`+itoa(config.Size)+`,"digest":"`+config.Digest.String()+`","x-descriptor":1e3},"layers":[]}`, types.OCIManifestSchema1)
	set.Root, set.Documents = manifest, []content.Document{manifest}
	dir := t.TempDir()
	if err := set.WriteLayout(t.Context(), dir, ""); err != nil {
		t.Fatal(err)
	}
	result, err := publish.Relabel(t.Context(), "oci:"+dir, nil, publish.Changes{Labels: map[string]string{"io.captf.role": "machine"}}, quick(t))
	if err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(t.Context(), "oci:"+dir, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	img, err := src.Image(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if img.Digest != result.New {
		t.Errorf("the layout has %s, want %s", img.Digest, result.New)
	}
	for _, want := range []string{`"x-manifest":"<&>"`, `"x-descriptor":1e3`} {
		if !strings.Contains(string(img.RawManifest), want) {
			t.Errorf("the manifest lost %s: %s", want, img.RawManifest)
		}
	}
	want := `{"os":"linux", "architecture":"amd64","x-config":{"n":1.50},"config":{"Env":["A=b"],"x-inner":[ ],"Labels":{"io.captf.role":"machine"}},"rootfs":{"type":"layers","diff_ids":[]}}`
	if string(img.RawConfig) != want {
		t.Errorf("the config is\n%s\nwant\n%s", img.RawConfig, want)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func TestChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		changes publish.Changes
		want    string
	}{
		"nothing":            {publish.Changes{}, "nothing to change"},
		"invalid capacity":   {publish.Changes{Labels: map[string]string{"io.captf.capacity": `{"cpu":4}`}}, "must be a string"},
		"invalid role":       {publish.Changes{Labels: map[string]string{"io.captf.role": "node"}}, "must be one of"},
		"unknown label":      {publish.Changes{Labels: map[string]string{"io.captf.size": "1"}}, "there is no label io.captf.size"},
		"key with a space":   {publish.Changes{Labels: map[string]string{"a b": "1"}}, "is no key"},
		"empty key":          {publish.Changes{RemoveAnnotations: []string{""}}, "is no key"},
		"set and removed":    {publish.Changes{Labels: map[string]string{"a": "1"}, RemoveLabels: []string{"a"}}, "set and removed"},
		"annotation as well": {publish.Changes{Annotations: map[string]string{"a": "1"}, RemoveAnnotations: []string{"a"}}, "set and removed"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.changes.Check()
			if !errors.Is(err, publish.ErrChanges) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one that says %q", err, tt.want)
			}
		})
	}
}
