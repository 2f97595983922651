package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestParseDestination(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		text                               string
		layout, tarball, refName, tag, err string
	}{
		{text: "oci:" + dir, layout: dir},
		{text: "oci:" + dir + ":v1.0", layout: dir, refName: "v1.0"},
		{text: "oci:" + filepath.Join(dir, "a:b", "c"), layout: filepath.Join(dir, "a:b", "c")},
		{text: "oci:new", layout: "new"},
		{text: "tarball:x.tar:v1", tarball: "x.tar", refName: "v1"},
		{text: "tarball:x.tar", tarball: "x.tar"},
		{text: "localhost:5000/a/b:v1", tag: "localhost:5000/a/b:v1"},
		{text: "ghcr.io/a/b:v1", tag: "ghcr.io/a/b:v1"},
		{text: "oci:a:b c", err: "is no tag"},
		{text: "oci:a:", err: "is no tag"},
		{text: "tarball:x.tar:v1+1", err: "is no tag"},
		{text: `oci:C:\out`, layout: `C:\out`},
		{text: "oci:", err: "names no path"},
		{text: "tarball:", err: "names no path"},
		{text: "ghcr.io/a/b", err: "has no tag"},
		{text: "", err: "is empty"},
		{text: "UPPER/x:v1", err: "parsing"},
	} {
		got, err := parseDestination(tt.text, false)
		if tt.err != "" {
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), tt.err) && tt.err != "parsing" {
				t.Errorf("%q: got error %v, want one that says %q", tt.text, err, tt.err)
			}
			continue
		}
		tag := ""
		if tt.tag != "" {
			tag = got.tag.Name()
		}
		if err != nil || got.layout != tt.layout || got.tarball != tt.tarball || got.refName != tt.refName || tag != tt.tag {
			t.Errorf("%q: got %+v, error %v", tt.text, got, err)
		}
	}
}
