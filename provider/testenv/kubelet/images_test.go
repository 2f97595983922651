package kubelet_test

import (
	"net/http"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	corev1 "k8s.io/api/core/v1"

	"github.com/captf-toolkit/captf/provider/testenv/registry"
)

// TestImages: how images that are not to be had are waited for.
func TestImages(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	for name, tc := range map[string]struct {
		image   string
		policy  corev1.PullPolicy
		reasons []string
		message string
	}{
		"missing": {image: node.registry.Host() + "/test/none:v1", reasons: []string{"ErrImagePull", "ImagePullBackOff", "ErrImagePull"}, message: "no repository"},
		"invalid": {image: node.registry.Host() + "/Test/None", reasons: []string{"InvalidImageName"}, message: "parse"},
		"never":   {image: node.registry.Host() + "/test/never:v1", policy: corev1.PullNever, reasons: []string{"ErrImageNeverPull"}, message: "Never"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := tool("main", "echo ran")
			c.Image, c.ImagePullPolicy = tc.image, tc.policy
			p := podOf(c)
			p.Name = name
			key := create(t, ns, p)
			for _, r := range tc.reasons {
				got := until(t, key, r, waitingFor("main", r))
				if m := status(got, "main").State.Waiting.Message; !strings.Contains(m, tc.message) {
					t.Errorf("%s says %q, want %q in it", r, m, tc.message)
				}
				if got.Status.Phase != corev1.PodPending {
					t.Errorf("the pod is %s", describe(got))
				}
			}
			if name != "missing" {
				return
			}
			if _, err := node.registry.Push(t.Context(), "test/none:v1", toolImage(t, nil)); err != nil {
				t.Fatal(err)
			}
			until(t, key, "its end", finished)
		})
	}
}

// TestImageIndex: the image of this platform, and the digest of the index.
func TestImageIndex(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	img := toolImage(t, nil)
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	other, err := registry.Image(map[string]registry.File{"/x": {}}, v1.Config{})
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: other, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "mips"}}},
		mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: config.Architecture}}})
	pushed, err := node.registry.Push(t.Context(), "test/index:v1", index)
	if err != nil {
		t.Fatal(err)
	}
	c := tool("main", "echo ran")
	for name, ref := range map[string]string{"tag": pushed.Tag, "digest": pushed.Digest} {
		c.Image = ref
		p := podOf(c)
		p.Name = name
		key := create(t, ns, p)
		got := until(t, key, "its end", finished)
		wantLines(t, output(t, key, "main"), "ran")
		if id := status(got, "main").ImageID; id != pushed.Digest {
			t.Errorf("by %s: the image is %s, want %s", name, id, pushed.Digest)
		}
	}
}

// TestPullPolicy: a tag that moved is seen with Always, and only then; layers are read once.
func TestPullPolicy(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	reg, err := registry.Start(t.Context(), registry.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	}()
	push := func(content string) registry.Pushed {
		pushed, err := reg.Push(t.Context(), "test/moving:v1", toolImage(t, func(f map[string]registry.File, _ *v1.Config) {
			f["/data/file"] = registry.File{Content: []byte(content)}
		}))
		if err != nil {
			t.Fatal(err)
		}
		return pushed
	}
	ran := func(name string, policy corev1.PullPolicy) string {
		c := tool("main", "cat /data/file")
		c.Image, c.ImagePullPolicy = reg.Host()+"/test/moving:v1", policy
		p := podOf(c)
		p.Name = name
		key := create(t, ns, p)
		got := until(t, key, "its end", finished)
		return output(t, key, "main") + status(got, "main").ImageID
	}
	first := push("one")
	if got, want := ran("first", corev1.PullIfNotPresent), "/data/file: one\n"+first.Digest; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	second := push("two")
	if got, want := ran("present", corev1.PullIfNotPresent), "/data/file: one\n"+first.Digest; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := ran("always", corev1.PullAlways), "/data/file: two\n"+second.Digest; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	before := reg.Requests(http.MethodGet, "blobs")
	ran("again", corev1.PullAlways)
	if after := reg.Requests(http.MethodGet, "blobs"); after > before+2 { // the config, and no layer
		t.Errorf("pulling again read %d blobs", after-before)
	}
	reg.SetDown(true)
	if got, want := ran("down", corev1.PullIfNotPresent), "/data/file: two\n"+second.Digest; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c := tool("main", "echo ran")
	c.Image, c.ImagePullPolicy = reg.Host()+"/test/moving:v1", corev1.PullAlways
	p := podOf(c)
	p.Name = "unavailable"
	key := create(t, ns, p)
	until(t, key, "ErrImagePull", waitingFor("main", "ErrImagePull"))
	reg.SetDown(false)
	until(t, key, "its end", finished)
}
