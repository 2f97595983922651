package runner

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// leakyModule tells everything it knows, in every way there is.
const leakyModule = `
variable "name" {}
variable "password" {}
variable "bootstrap_data" {}

resource "terraform_data" "leak" {
  input = { password = var.password, url = "https://x?y=${nonsensitive(var.password)}" }

  provisioner "local-exec" {
    command = <<-EOT
      echo "the password is ${nonsensitive(var.password)}!"
      printf '%s' "${substr(nonsensitive(var.password), 0, 5)}"; sleep 0.2; printf '%s\n' "${substr(nonsensitive(var.password), 5, -1)}"
      echo "${nonsensitive(base64decode(var.bootstrap_data))}"
      echo "$CLOUD_API_KEY $PLAIN_LONG $SHORT_PASS"
      env
      exit 3
    EOT
  }
}

resource "terraform_data" "check" {
  lifecycle {
    precondition {
      condition     = var.name != "bad"
      error_message = "the name ${nonsensitive(var.password)} is wrong, use another"
    }
  }
}

output "id" {
  value = nonsensitive(var.password)
}
`

var canaries = map[string]string{
	"password":   "pa55w0rd-canary-<&>",
	"bootstrap":  "kubeadm-join-token-canary.0123456789",
	"env name":   "key-canary",
	"env length": "a-long-canary-value-of-no-secret-name",
	"env short":  "s3cr",
	"file":       "file-canary",
	"hidden":     "hidden-by-an-explicit-variable-canary",
}

func leakyJob(t *testing.T, bin string) *job {
	t.Helper()
	j := newJob(t, bin, map[string]string{"main.tf": leakyModule})
	bootstrap := "#cloud-config\nruncmd:\n  - " + canaries["bootstrap"] + "\n"
	j.values(map[string]any{
		"name": "bad", "password": canaries["password"], "bootstrap_data": base64.StdEncoding.EncodeToString([]byte(bootstrap)),
	}, []string{"password", "bootstrap_data"})
	j.env = append(j.env, "CLOUD_API_KEY="+canaries["env name"], "PLAIN_LONG="+canaries["env length"], "SHORT_PASS="+canaries["env short"],
		"TF_VAR_x="+canaries["file"]+"-in-a-dropped-variable", "KUBE_TOKEN=dropped")
	if err := os.MkdirAll(j.o.Credentials, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"TF_TOKEN": canaries["file"], "PLAIN_LONG": canaries["hidden"]} {
		if err := os.WriteFile(filepath.Join(j.o.Credentials, name), []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// told is everything that leaves the run.
func (j *job) told() string {
	j.broker.mu.Lock()
	defer j.broker.mu.Unlock()
	doc, _ := os.ReadFile(j.o.Result)
	return j.log.String() + string(doc) + strings.Join(j.broker.bodies, "\n") + strings.Join(j.broker.requests, "\n") + j.stdout.String()
}

// TestSecrets: no secret is in the log, in an event or in the result, however a module tries (B-618).
func TestSecrets(t *testing.T) {
	eachRuntime(t, func(t *testing.T, bin string) {
		j := leakyJob(t, bin)
		search := func(when string) {
			t.Helper()
			for name, canary := range canaries {
				if told := j.told(); strings.Contains(told, canary) {
					i := strings.Index(told, canary)
					t.Errorf("%s: the %s is told: %q", when, name, told[max(0, i-80):i+len(canary)])
				}
			}
		}
		j.fails(infrav1.OperationApply, infrav1.RunErrorStep, nil, "the name (sensitive) is wrong, use another", "main.tf:")
		search("precondition")
		if !strings.Contains(j.log.String(), "does not get: KUBE_TOKEN, TF_VAR_x") {
			t.Errorf("the dropped variables are not named\n%s", j.log.String())
		}

		j.values(map[string]any{
			"name": "good", "password": canaries["password"],
			"bootstrap_data": base64.StdEncoding.EncodeToString([]byte("#cloud-config\n  - " + canaries["bootstrap"] + "\n")),
		}, []string{"password", "bootstrap_data"})
		d := j.fails(infrav1.OperationApply, infrav1.RunErrorStep, nil, "local-exec provisioner error", "module.role.terraform_data.leak")
		if len(d.Error.Resources) != 1 || !strings.HasPrefix(d.Error.Resources[0], "module.role.terraform_data.leak: ") {
			t.Errorf("resources: %q", d.Error.Resources)
		}
		if !strings.Contains(j.log.String(), "the password is (sensitive)!") {
			t.Errorf("the provisioner's output is not in the log\n%s", j.log.String())
		}
		search("provisioner")
		j.fails(infrav1.OperationApply, infrav1.RunErrorBlocked, func(o *Options) { o.GuardDeletes = true })
		search("guarded")
		j.must(infrav1.OperationPlan, nil)
		search("plan")
	})
}

// TestSensitiveOfPlan: what a provider calls sensitive is a secret too, although no variable is.
func TestSensitiveOfPlan(t *testing.T) {
	r := newRedactor()
	r.addPlan([]byte(`{"resource_changes":[{"address":"a.b","change":{"actions":["update"],"before":{"x":"old-secret","y":"plain"},
		"after":{"x":["new-secret"],"y":"plain"},"before_sensitive":{"x":true},"after_sensitive":{"x":[true]}}}],
		"output_changes":{"o":{"actions":["create"],"after":"out-secret","after_sensitive":true}}}`))
	if got, want := r.text("old-secret new-secret out-secret plain"), "(sensitive) (sensitive) (sensitive) plain"; got != want {
		t.Errorf("got %q, wanted %q", got, want)
	}
}

func TestEnvironmentSecrets(t *testing.T) {
	r := newRedactor()
	env := []string{
		"REGION=eu-west-1", "HOME=/captf/work/is/a/long/path", "KUBE_NAMESPACE=a-namespace-with-a-long-name", "USE_AUTH=true",
		"MY_CREDENTIAL=abcd", "TINY_KEY=x", "SSL_CERT_FILE=/etc/ssl.pem", "LONG=0123456789abcdef", "MULTI_SECRET=first line is long\nshort\nthe third is long too",
	}
	r.addEnvironment(env, false)
	for in, want := range map[string]string{
		"eu-west-1 /captf/work/is/a/long/path a-namespace-with-a-long-name true x": "",
		"abcd": sensitive, "0123456789abcdef": sensitive, "the third is long too": sensitive, "short": "",
		`first line is long\nshort\nthe third is long too`:            sensitive,
		base64.StdEncoding.EncodeToString([]byte("0123456789abcdef")): sensitive,
	} {
		if want == "" {
			want = in
		}
		if got := r.text(in); got != want {
			t.Errorf("%q became %q, wanted %q", in, got, want)
		}
	}
}

// TestLocalEnvironmentSecrets hides credentials of a user's own environment, and no paths.
func TestLocalEnvironmentSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "authority")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRedactor()
	r.addEnvironment([]string{
		"GOPATH=/home/me/a/long/path", "EDITOR_OPTIONS=long-enough-for-a-job", "SSH_AUTH_SOCK=" + file, "XAUTHORITY=" + file,
		"CLOUD_TOKEN=abcd1234", "CLOUD_KEY=/begins/like+a/path==",
	}, true)
	plain := "/home/me/a/long/path/main.tf long-enough-for-a-job " + file
	if got := r.text(plain); got != plain {
		t.Errorf("%q became %q", plain, got)
	}
	if got, want := r.text("abcd1234 /begins/like+a/path=="), sensitive+" "+sensitive; got != want {
		t.Errorf("credentials became %q", got)
	}
}

// TestRedactProperty: no secret survives, wherever it is in a text and whatever is around it.
func TestRedactProperty(t *testing.T) {
	secret := rapid.StringMatching(`[a-zA-Z0-9<>&"\\/+=_.-]{4,40}`)
	rapid.Check(t, func(t *rapid.T) {
		r := newRedactor()
		secrets := rapid.SliceOfN(secret, 1, 6).Draw(t, "secrets")
		r.add(secrets...)
		text := ""
		for range rapid.IntRange(1, 6).Draw(t, "parts") {
			text += rapid.StringMatching(`[ :,']{0,3}`).Draw(t, "before") + rapid.SampledFrom(secrets).Draw(t, "which")
		}
		got := strings.ReplaceAll(r.text(text), sensitive, "\x00")
		for _, s := range secrets {
			if strings.Contains(got, s) && len(formsOf(s)) > 0 {
				t.Fatalf("%q is left of %q: %q", s, text, got)
			}
		}
		cut := r.line([]byte(text[:len(text)-1]), true)
		if strings.Contains(cut, secrets[0]) && len(formsOf(secrets[0])) > 0 {
			t.Fatalf("%q is left of a line that was cut: %q", secrets[0], cut)
		}
	})
}

// TestLargeSecret: a machine's bootstrap data may be a megabyte.
func TestLargeSecret(t *testing.T) {
	var b strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&b, "  - echo line %d of a long cloud-config document\n", i)
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(b.String()))
	r := newRedactor()
	r.addVariables([]byte(`{"variable":{"bootstrap_data":{"sensitive":true}}}`), []byte(`{"bootstrap_data":"`+encoded+`"}`))
	for _, s := range []string{encoded, "- echo line 11999 of a long cloud-config document"} {
		if got := r.text("x " + s + " y"); got != "x "+sensitive+" y" {
			t.Errorf("%.60q is not replaced: %.80q", s, got)
		}
	}
}
