package runtime_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

func TestOldest(t *testing.T) {
	for kind, want := range map[runtime.Kind]string{runtime.OpenTofu: "1.6.0", runtime.Terraform: "1.5.0", "pulumi": ""} {
		if got := kind.Oldest(); got != want {
			t.Errorf("the oldest %s is %q, want %q", kind, got, want)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "tofu")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	noFormat := filepath.Join(t.TempDir(), "tofu")
	if err := os.WriteFile(noFormat, []byte("\x7fELF but not really"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		path   string
		reason runtime.FindReason
		says   string
	}{
		"no such file":    {filepath.Join(t.TempDir(), "none"), runtime.Missing, "there is no such file"},
		"no such command": {"captf-no-such-command", runtime.Missing, "no such command on PATH"},
		"not executable":  {plain, runtime.NotExecutable, "set its execute permission"},
		"a directory":     {t.TempDir(), runtime.NotExecutable, "is a directory"},
		"no program":      {noFormat, runtime.Crashed, "cannot be started"},
		"hangs":           {fake(t, "version-hangs"), runtime.Hung, "did not answer"},
		"panics":          {fake(t, "version-crashes"), runtime.Crashed, "no runtime today"},
		"fails":           {fake(t, "version-fails"), runtime.Crashed, `exit code 127; it printed "library not found"`},
		"is killed":       {fake(t, "version-killed"), runtime.Crashed, "ended by signal killed"},
		"garbage":         {fake(t, "version-garbage"), runtime.Garbage, "did not answer as OpenTofu or Terraform do"},
		"old OpenTofu":    {fake(t, "version-old-tofu"), runtime.TooOld, "OpenTofu 1.5.9 is too old; install OpenTofu 1.6.0 or newer"},
		"old Terraform":   {fake(t, "version-old-terraform"), runtime.TooOld, "Terraform 1.4.7 is too old; install Terraform 1.5.0 or newer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if tc.reason == runtime.Hung {
				timeout = 500 * time.Millisecond
			}
			_, err := runtime.Find(t.Context(), runtime.Options{Path: tc.path, Timeout: timeout})
			var fe *runtime.FindError
			if !errors.As(err, &fe) {
				t.Fatalf("got %v, want a FindError", err)
			}
			if fe.Reason != tc.reason {
				t.Errorf("reason %q, want %q", fe.Reason, tc.reason)
			}
			if !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), tc.path) {
				t.Errorf("%q does not name %q or does not say %q", err, tc.path, tc.says)
			}
			if len(err.Error()) > 700 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestFindWrapped(t *testing.T) {
	b, err := runtime.Find(t.Context(), runtime.Options{Path: fake(t, "version-wrapped")})
	if err != nil {
		t.Fatal(err)
	}
	if b.Kind != runtime.Terraform || b.Version != "1.5.0-rc1" || !b.AtLeast("1.5.0") || b.AtLeast("1.5.1") {
		t.Errorf("got %+v", b)
	}
}

func TestFindOrder(t *testing.T) {
	link := func(dir, name, to string) {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	tofu, terraform, old := fake(t, "panics"), fake(t, "version-wrapped"), fake(t, "version-old-tofu")
	for name, tc := range map[string]struct {
		tofu, terraform, env, want string
		says                       []string
	}{
		"tofu first":             {tofu: tofu, terraform: terraform, want: "tofu"},
		"terraform alone":        {terraform: terraform, want: "terraform"},
		"old tofu is passed by":  {tofu: old, terraform: terraform, want: "terraform"},
		"variable wins":          {tofu: tofu, terraform: terraform, env: terraform, want: filepath.Base(terraform)},
		"variable names command": {tofu: tofu, terraform: terraform, env: "terraform", want: "terraform"},
		"variable is binding":    {tofu: tofu, env: old, says: []string{"too old"}},
		"none":                   {says: []string{"neither is on PATH", "--runtime", "CAPTF_RUNTIME"}},
		"none usable":            {tofu: old, terraform: old, says: []string{"bin/tofu: ", "bin/terraform: ", "too old"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bin")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			link(dir, "sh", sh)
			if tc.tofu != "" {
				link(dir, "tofu", tc.tofu)
			}
			if tc.terraform != "" {
				link(dir, "terraform", tc.terraform)
			}
			t.Setenv("PATH", dir)
			t.Setenv(runtime.EnvRuntime, tc.env)
			b, err := runtime.Find(t.Context(), runtime.Options{})
			if tc.want != "" {
				if err != nil {
					t.Fatal(err)
				}
				if filepath.Base(b.Path) != tc.want {
					t.Errorf("found %s, want %s", b.Path, tc.want)
				}
				return
			}
			if err == nil {
				t.Fatalf("found %s", b.Path)
			}
			for _, s := range tc.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
}

func TestFindCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runtime.Find(ctx, runtime.Options{Path: fake(t, "version-hangs")}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFindReal(t *testing.T) {
	for _, b := range runtimetest.Binaries(t) {
		again, err := runtime.Find(t.Context(), runtime.Options{Path: b.Path})
		if err != nil {
			t.Fatal(err)
		}
		if again.Kind != b.Kind || !filepath.IsAbs(again.Path) || !again.AtLeast("1.5.0") {
			t.Errorf("got %+v", again)
		}
	}
}
