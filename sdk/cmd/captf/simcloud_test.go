package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// tinyFile is the schema of a provider that exists nowhere.
const tinyFile = "../../simcloud/testdata/tiny.json"

func TestSimcloudUsage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"simcloud", "record", "--provider", "a/b"}, exitUsage, "--output FILE is needed"},
		{[]string{"simcloud", "record", "--output", "x"}, exitUsage, "either --provider SOURCE or --module DIR is needed"},
		{[]string{"simcloud", "list", "-o", "xml"}, exitUsage, "text, json"},
		{[]string{"simcloud", "list", "--schema", "a/b="}, exitUsage, "it must be FILE or SOURCE=FILE"},
		{[]string{"simcloud", "list", "--schema", "missing.json"}, exitError, "missing.json"},
		{[]string{"simcloud", "list", "--schema", "c/d=" + tinyFile}, exitError, "it is the schema of example.com/acme/tiny and not of c/d"},
		{[]string{"simcloud", "serve", "nobody/nothing"}, exitError, "there is no recorded schema of the provider nobody/nothing"},
		{[]string{"harness", "run", "--schema", "x", "modules"}, exitUsage, "--schema is for --simulate"},
	} {
		code, stdout, stderr := captf(t, test.args...)
		if code != test.code || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("captf %v: exit %d, want %d; %q, want %q", test.args, code, test.code, stderr, test.want)
		}
	}
}

func TestSimcloudList(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := captf(t, "simcloud", "list", "--schema", tinyFile, "--types")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, %q", code, stderr)
	}
	for _, want := range []string{"example.com/acme/tiny", "1.2.3", "  tiny_network\n", "  data tiny_image\n", "hashicorp/aws", "pruned"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	code, stdout, _ = captf(t, "simcloud", "list", "-o", "json")
	var list []simulatedProvider
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != exitOK || len(list) == 0 || len(list[0].Resources) == 0 {
		t.Errorf("exit %d, %v, %+v", code, err, list)
	}
}

// What is served can be recorded as from an installed provider, and a cloud outlives its server.
func TestSimcloudServeAndRecord(t *testing.T) {
	dir := t.TempDir()
	cloud := filepath.Join(dir, "cloud.json")
	serve := func(use func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, w := io.Pipe()
		ended := make(chan int, 1)
		var errs bytes.Buffer
		go func() {
			ended <- run(ctx, []string{"simcloud", "serve", "--schema", tinyFile, "--cloud", cloud, "example.com/acme/tiny"}, strings.NewReader(""), w, &errs)
			_ = w.Close()
		}()
		line := make([]byte, 4096)
		n, err := r.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		value, ok := strings.CutPrefix(strings.TrimSpace(string(line[:n])), "export TF_REATTACH_PROVIDERS='")
		if !ok {
			t.Fatalf("it printed %q", line[:n])
		}
		t.Setenv("TF_REATTACH_PROVIDERS", strings.TrimSuffix(value, "'"))
		use()
		cancel()
		if code := <-ended; code != exitOK {
			t.Errorf("exit %d: %s", code, errs.String())
		}
	}
	b := runtimetest.OpenTofu(t)
	t.Setenv(runtime.EnvRuntime, b.Path)
	work := filepath.Join(dir, "work")
	runtimetest.Write(t, work, map[string]string{"main.tf": `terraform {
  required_providers { tiny = { source = "example.com/acme/tiny", version = ">= 1.0" } }
}
resource "tiny_network" "n" { name = "n" }
`})
	apply := func() {
		t.Helper()
		if _, err := runtimetest.Workdir(t, b, work, runtime.WorkdirOptions{}).Apply(t.Context(), runtime.ApplyOptions{}); err != nil {
			t.Error(err)
		}
	}
	serve(func() {
		apply()
		file := filepath.Join(dir, "all.json.gz")
		if code, stdout, stderr := captf(t, "simcloud", "record", "--provider", "example.com/acme/tiny", "--output", file); code != exitOK || !strings.Contains(stdout, "3 resource types, 3 data sources") {
			t.Fatalf("exit %d, %q, %q", code, stdout, stderr)
		}
		all, err := simcloud.ReadSchemaFile(file, simcloud.ReadOptions{})
		if err != nil || all.Source != "example.com/acme/tiny" || all.Pruned {
			t.Errorf("recorded %+v, %v", all, err)
		}
		if code, _, stderr := captf(t, "simcloud", "record", "--module", work, "--prune", work, "--output", dir+"/pruned/"); code != exitOK {
			t.Fatalf("exit %d, %q", code, stderr)
		}
		few, err := simcloud.ReadSchemaFile(filepath.Join(dir, "pruned", "example.com_acme_tiny.json.gz"), simcloud.ReadOptions{})
		if err != nil || len(few.Resources) != 1 || !few.Pruned {
			t.Errorf("recorded %+v, %v", few, err)
		}
		// What cannot be recorded leaves the file that was there.
		if code, _, _ := captf(t, "simcloud", "record", "--provider", "example.com/acme/tiny", "--prune", filepath.Join(dir, "pruned"), "--output", file); code != exitError {
			t.Errorf("without a module to prune by: exit %d", code)
		}
		if again, err := simcloud.ReadSchemaFile(file, simcloud.ReadOptions{}); err != nil || len(again.Resources) != 3 {
			t.Errorf("the file is now %+v, %v", again, err)
		}
	})
	serve(func() {
		apply() // finds what the first server made
	})
	kept, err := simcloud.LoadCloud(cloud, simcloud.Limits{})
	if err != nil || len(kept.Objects()) != 1 {
		t.Errorf("kept: %v", err)
	}
	if info, err := os.Stat(cloud); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the cloud: %v, %v", info, err)
	}
}
