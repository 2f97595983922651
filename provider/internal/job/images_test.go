package job_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/job"
)

// TestChooseImage is B-170, B-171, B-173 to B-175.
func TestChooseImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	pinned := "r.example/m@" + digest
	record := job.ImageRecord{Image: "r.example/m:v1", Digest: digest}
	for name, tt := range map[string]struct {
		op         infrav1.Operation
		spec       string
		record     job.ImageRecord
		unpullable []string
		want       job.Image
	}{
		"apply":                {"apply", "r.example/m:v2", record, nil, job.Image{Reference: "r.example/m:v2", Run: "r.example/m:v2"}},
		"plan, whatever fails": {"plan", "r.example/m:v2", record, []string{"r.example/m:v2"}, job.Image{Reference: "r.example/m:v2", Run: "r.example/m:v2"}},
		"pinned": {"destroy", "r.example/m:v2", record, nil, job.Image{
			Reference: "r.example/m:v1", Run: pinned, Fallbacks: []string{"r.example/m:v1", "r.example/m:v2"}, Pinned: true,
		}},
		"spec unchanged": {"drift", "r.example/m:v1", record, nil, job.Image{
			Reference: "r.example/m:v1", Run: pinned, Fallbacks: []string{"r.example/m:v1"}, Pinned: true,
		}},
		"digest is gone": {"refresh", "r.example/m:v2", record, []string{pinned}, job.Image{
			Reference: "r.example/m:v1", Run: "r.example/m:v1", Fallbacks: []string{"r.example/m:v2"},
		}},
		"tag is gone": {"refresh", "r.example/m:v2", record, []string{"r.example/m:v1"}, job.Image{
			Reference: "r.example/m:v1", Run: pinned, Fallbacks: []string{"r.example/m:v2"}, Pinned: true,
		}},
		"both are gone":       {"refresh", "r.example/m:v2", record, []string{pinned, "r.example/m:v1"}, job.Image{Reference: "r.example/m:v1", Run: "r.example/m:v2"}},
		"all are gone":        {"refresh", "r.example/m:v2", record, []string{"r.example/m:v2", pinned, "r.example/m:v1"}, job.Image{Reference: "r.example/m:v1", Run: "r.example/m:v2"}},
		"no digest":           {"destroy", "r.example/m:v2", job.ImageRecord{Image: "r.example/m:v1"}, nil, job.Image{Reference: "r.example/m:v1", Run: "r.example/m:v1", Fallbacks: []string{"r.example/m:v2"}}},
		"no record":           {"destroy", "r.example/m:v2", job.ImageRecord{}, nil, job.Image{Reference: "r.example/m:v2", Run: "r.example/m:v2"}},
		"written by a digest": {"restore", pinned, job.ImageRecord{Image: pinned, Digest: digest}, nil, job.Image{Reference: pinned, Run: pinned, Pinned: true}},
	} {
		if diff := cmp.Diff(tt.want, job.ChooseImage(tt.op, tt.spec, tt.record, tt.unpullable)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFallbackKeepsName: a Job that falls back to another image keeps its name (B-173), one that does something else does not.
func TestFallbackKeepsName(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	record := job.ImageRecord{Image: "r.example/m:v1", Digest: digest}
	spec := job.Spec{
		Object: job.Object{Role: "machine", Namespace: "ns", Name: "m", UID: "1"}, Operation: "refresh", Attempt: 1,
		InputsHash: "h2:a", Image: job.ChooseImage("refresh", "r.example/m:v2", record, nil),
	}
	name := spec.Name()
	unpullable := job.NoteUnpullable(nil, spec.Image.Run)
	spec.Image = job.ChooseImage("refresh", "r.example/m:v2", record, unpullable)
	if spec.Image.Run != "r.example/m:v1" || spec.Name() != name {
		t.Errorf("falls back to %s as %s, was %s", spec.Image.Run, spec.Name(), name)
	}
	spec.Tick = "2026-03-01T12:00:00Z"
	if spec.Name() == name {
		t.Error("the next refresh has the name of the last one")
	}
}

// TestPin strips what a reference says of a tag or digest.
func TestPin(t *testing.T) {
	for _, tt := range []struct{ reference, digest, want string }{
		{"m", "sha256:1", "m@sha256:1"},
		{"m:v1", "sha256:1", "m@sha256:1"},
		{"localhost:5000/m", "sha256:1", "localhost:5000/m@sha256:1"},
		{"localhost:5000/a/m:v1", "sha256:1", "localhost:5000/a/m@sha256:1"},
		{"localhost:5000/m:v1@sha256:0", "sha256:1", "localhost:5000/m@sha256:1"},
		{"m@sha256:0", "sha256:1", "m@sha256:1"},
		{"m:v1", "", ""},
		{"", "sha256:1", ""},
	} {
		if got := job.Pin(tt.reference, tt.digest); got != tt.want {
			t.Errorf("%s by %s is %q, want %q", tt.reference, tt.digest, got, tt.want)
		}
	}
	for id, want := range map[string]string{
		"r.example/m@sha256:1":                   "sha256:1",
		"docker-pullable://r.example/m@sha256:1": "sha256:1",
		"sha256:1":                               "",
		"docker://sha256:1":                      "",
		"r.example/m@md5:1":                      "",
		"":                                       "",
	} {
		if got := job.Digest(id); got != want {
			t.Errorf("the digest of %s is %q, want %q", id, got, want)
		}
	}
}

// TestUnpullable is the list that B-173 keeps.
func TestUnpullable(t *testing.T) {
	var list []string
	for _, i := range []string{"a", "b", "a", "c", "d"} {
		list = job.NoteUnpullable(list, i)
	}
	if diff := cmp.Diff([]string{"a", "c", "d"}, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(list, job.DecodeImages(job.EncodeImages(list))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := job.EncodeImages(nil); s != "" {
		t.Errorf("no images are %q", s)
	}
	for _, s := range []string{"", "{", `{"a":1}`, `[1]`} {
		if images := job.DecodeImages(s); images != nil {
			t.Errorf("%q is %v", s, images)
		}
	}
}
