package publish_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/imagetest"
	"github.com/captf-toolkit/captf/images/publish"
	"github.com/captf-toolkit/captf/images/referrer"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/source"
)

// debianRegistry starts Debian's docker-registry, another implementation than the
// one of the other tests, on the loopback interface and returns its address.
func debianRegistry(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		cache := os.Getenv("CAPTF_CACHE")
		if user, err := os.UserCacheDir(); err == nil && cache == "" {
			cache = filepath.Join(user, "captf")
		}
		program = filepath.Join(cache, "debian", "usr", "bin", "docker-registry")
		if _, err := os.Stat(program); err != nil {
			t.Skip("there is no docker-registry: .ci/debian fetches it where apt-get is")
		}
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog:\n  level: info\nstorage:\n  filesystem:\n    rootdirectory: %s\nhttp:\n  addr: 127.0.0.1:0\n", filepath.Join(dir, "data"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "serve", config)
	cmd.WaitDelay = 5 * time.Second
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	listening := regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go func() { // so that the registry never waits for a reader
				for lines.Scan() {
				}
			}()
			return m[1]
		}
	}
	t.Fatal("docker-registry ended without listening")
	return ""
}

// TestDebianRegistry takes an image round: published with two tags, pulled by
// another client with the same digest, read by ranges, relabelled, found by
// digest, and not sent twice.
func TestDebianRegistry(t *testing.T) {
	host := debianRegistry(t)
	layout := imagetest.Layout(t, filepath.Join("..", "..", "modules", "noop", "machine"), contract.RoleMachine, nil)
	src, err := source.Open(t.Context(), layout, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	set, err := content.FromSource(t.Context(), src, true)
	if err != nil {
		t.Fatal(err)
	}
	var tags []name.Tag
	for _, tag := range []string{"v1.0.0", "v1.0"} {
		parsed, err := name.NewTag(host + "/modules/machine:" + tag)
		if err != nil {
			t.Fatal(err)
		}
		tags = append(tags, parsed)
	}
	first, err := publish.Publish(t.Context(), set, tags, publish.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := publish.Publish(t.Context(), set, tags, publish.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if first.Sent == 0 || again.Sent != 0 {
		t.Errorf("sent %d bytes, then %d", first.Sent, again.Sent)
	}
	for _, tag := range tags {
		digest, err := crane.Digest(tag.String(), crane.Insecure)
		if err != nil || digest != src.Digest.String() {
			t.Errorf("%s has the digest %s, %v; want %s", tag, digest, err, src.Digest)
		}
		img, err := crane.Pull(tag.String(), crane.Insecure, crane.WithPlatform(&v1.Platform{OS: "linux", Architecture: "arm64"}))
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(img); err != nil {
			t.Errorf("%s: %v", tag, err)
		}
	}
	remote, err := source.Open(t.Context(), tags[0].String(), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	img, err := remote.Image(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := rootfs.Open(t.Context(), img, rootfs.Options{SmallLayer: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if b, err := files.ReadFile(t.Context(), "/captf/module/versions.tf", 0); err != nil || !strings.Contains(string(b), "required_version") {
		t.Errorf("reading by ranges: %v", err)
	}
	if s := remote.Stats(); s.Streams > 0 || s.Ranges == 0 {
		t.Errorf("layers were read whole: %+v", s)
	}
	// This registry does not know referrers: a tag stands in for its list.
	store, err := referrer.Of(remote, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	attached, err := store.Attach(t.Context(), referrer.Artifact{
		Subject: v1.Descriptor{MediaType: remote.MediaType, Digest: remote.Digest, Size: int64(len(remote.Raw))},
		Type:    "application/vnd.example.note", MediaType: "text/plain", Content: []byte("a note"),
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := store.List(t.Context(), remote.Digest)
	if err != nil || len(list) != 1 || list[0].Digest != attached.Digest {
		t.Errorf("attached are %v, %v; want %s", list, err, attached.Digest)
	}
}
