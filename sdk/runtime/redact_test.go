package runtime

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRedact(t *testing.T) {
	pem := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nshort\n-----END KEY-----\n"
	cloud := `{"a": "<b> & \"c\""}`
	r := newRedactor([]string{"hunter2-hunter2", "hunter2", pem, cloud, "ab", ""})
	for in, want := range map[string]string{
		"nothing here":                 "nothing here",
		"pw hunter2!":                  "pw (redacted)!",
		"pw hunter2-hunter2!":          "pw (redacted)!",
		"ab is too short":              "ab is too short",
		pem:                            Redacted,
		"| MIIEvQIBADANBgkqhkiG9w0BAQ": "| (redacted)",
		jsonText(pem, true):            Redacted,
		jsonText(cloud, true):          Redacted,
		jsonText(cloud, false):         Redacted,
		"x" + base64.StdEncoding.EncodeToString([]byte(pem)): "x(redacted)",
	} {
		if got := r.text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	var none *redactor
	if none.text("x") != "x" || (&redactor{}).text("x") != "x" {
		t.Error("no secrets changed a text")
	}
}

func TestRedactProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[A-Z0-9<>&"\\\n]{4,40}`), 1, 4).Draw(t, "secrets")
		r := newRedactor(secrets)
		text := rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "before") + rapid.SampledFrom(secrets).Draw(t, "secret") + rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "after")
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{text, string(quoted)} {
			got := r.text(form)
			for _, s := range secrets {
				if strings.Contains(got, s) {
					t.Fatalf("%q shows %q", got, s)
				}
			}
		}
		// Cut anywhere, a line shows no beginning of a secret of more than one byte of doubt.
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		got := string(r.line(line{text: []byte(text[:cut]), cut: true}).text)
		if strings.ContainsAny(got, `<>&"\`) {
			t.Fatalf("cut line shows the start of a secret: %q", got)
		}
	})
}

func TestEnvironment(t *testing.T) {
	parent := []string{
		"HOME=/home/u", "PATH=/bin", "AWS_PROFILE=p", "HTTPS_PROXY=h", "broken", "=C:=x",
		"TF_CLI_ARGS=-x", "TF_VAR_a=1", "TF_LOG=TRACE", "TF_WORKSPACE=w", "TF_DATA_DIR=d", "TF_INPUT=1",
		"TF_PLUGIN_CACHE_DIR=/cache", "TF_REATTACH_PROVIDERS={}", "TF_TOKEN_example_com=t", "TF_REGISTRY_CLIENT_TIMEOUT=9",
		"CAPTF_RUNTIME=tofu",
	}
	want := []string{
		"AWS_PROFILE=p", "CHECKPOINT_DISABLE=1", "EXTRA=e", "HOME=/home/u", "HTTPS_PROXY=h", "PATH=/own", "PWD=/w",
		"TF_CLI_CONFIG_FILE=/dev/null", "TF_INPUT=0", "TF_IN_AUTOMATION=1", "TF_PLUGIN_CACHE_DIR=/cache",
		"TF_REATTACH_PROVIDERS={}", "TF_REGISTRY_CLIENT_TIMEOUT=9", "TF_TOKEN_example_com=t",
	}
	got := environment(parent, "/w", "/dev/null", map[string]string{"EXTRA": "e", "PATH": "/own"})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got): %s", d)
	}
}

func TestEnvironmentSecrets(t *testing.T) {
	got := environmentSecrets([]string{
		"AWS_SECRET_ACCESS_KEY=abcdefghijklmnop", "OS_PASSWORD=correct horse battery", "aws_session_token=tttttttttttttttt",
		"AWS_REGION=eu-central-1-long-name", "GITHUB_TOKEN=short", "SECRET_FILE=/run/secrets/some-file",
	})
	slices.Sort(got)
	if d := cmp.Diff([]string{"abcdefghijklmnop", "correct horse battery", "tttttttttttttttt"}, got); d != "" {
		t.Errorf("(-want +got): %s", d)
	}
}

func TestLogShowsNoBackendSettings(t *testing.T) {
	got := shown([]string{"init", "-backend-config=password=x=y", "-backend-config=file.hcl"})
	if want := "init -backend-config=password=… -backend-config=file.hcl"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
