package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/images/imagetest"
)

func TestImageUnpack(t *testing.T) {
	machine := filepath.Join(noop, "machine")
	good := imagetest.Layout(t, machine, contract.RoleMachine, nil)
	damaged := edited(t, func(img v1.Image) (v1.Image, error) {
		config, err := img.ConfigFile()
		if err != nil {
			return nil, err
		}
		config = config.DeepCopy()
		config.RootFS.DiffIDs[0] = v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}
		return mutate.ConfigFile(img, config)
	})
	for _, tt := range []struct {
		name  string
		image string
		args  []string
		in    func(t *testing.T, dir string)
		code  int
		want  string
	}{
		{name: "new directory", image: good, code: exitOK, want: "/captf/module\n"},
		{name: "in a directory that is made", image: good, args: []string{"--output", "json"}, code: exitOK, want: `"runtime": "`},
		{name: "empty directory", image: good, in: func(t *testing.T, dir string) {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}, code: exitOK, want: "providers: "},
		{name: "another platform", image: good, args: []string{"--platform", "linux/arm64"}, code: exitOK, want: "module: "},
		{name: "not empty", image: good, in: func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Join(dir, "mine"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, code: exitUsage, want: "it is not empty"},
		{name: "a file", image: good, in: func(t *testing.T, dir string) {
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, code: exitUsage, want: "it is no directory"},
		{name: "unknown platform", image: good, args: []string{"--platform", "amd64"}, code: exitUsage, want: "amd64"},
		{name: "platform that it has not", image: good, args: []string{"--platform", "linux/s390x"}, code: exitError, want: "s390x"},
		{name: "no image", image: "oci:" + t.TempDir() + "/none", code: exitError, want: "none"},
		{name: "damaged", image: damaged, code: exitFailed, want: "damaged: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parent := filepath.Join(t.TempDir(), "parent")
			dir := filepath.Join(parent, "out")
			if tt.in != nil {
				if err := os.Mkdir(parent, 0o700); err != nil {
					t.Fatal(err)
				}
				tt.in(t, dir)
			}
			code, stdout, stderr := captf(t, append([]string{"image", "unpack", tt.image, dir}, tt.args...)...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
				t.Fatalf("exit %d, want %d with %q\n%s%s", code, tt.code, tt.want, stdout, stderr)
			}
			left, _ := filepath.Glob(filepath.Join(parent, ".unpacking-*"))
			if len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			_, err := os.Stat(filepath.Join(dir, "captf", "module"))
			if (err == nil) != (code == exitOK) {
				t.Errorf("exit %d, and the module: %v", code, err)
			}
		})
	}
	dir := filepath.Join(t.TempDir(), "out")
	code, stdout, stderr := captf(t, "image", "unpack", "-o", "json", good, dir)
	var u unpacked
	if err := json.Unmarshal([]byte(stdout), &u); code != exitOK || err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	for _, path := range []string{u.Module, u.Runtime} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	want, err := os.ReadFile(filepath.Join(machine, "variables.tf"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(u.Module, "variables.tf")); err != nil || string(got) != string(want) {
		t.Errorf("the module's files are others: %v", err)
	}
}
