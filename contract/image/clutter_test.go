package image_test

import (
	"path"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract/image"
)

func TestFindClutter(t *testing.T) {
	const cert, key = "-----BEGIN CERTIFICATE-----\n", "-----BEGIN RSA PRIVATE KEY-----\n"
	for _, tt := range []struct {
		name, content string
		dir           bool
		want          image.ClutterKind
	}{
		{name: "main.tf"},
		{name: "templates", dir: true},
		{name: "LICENSE"},
		{name: "terraform.tfstate", want: image.ClutterState},
		{name: "sub/terraform.tfstate.backup", want: image.ClutterState},
		{name: ".terraform.tfstate.lock.info", want: image.ClutterState},
		{name: ".terraform", dir: true, want: image.ClutterCache},
		{name: ".terraform.lock.hcl", want: image.ClutterLock},
		{name: "tests", dir: true, want: image.ClutterTest},
		{name: "tests"},
		{name: "a.tftest.hcl", want: image.ClutterTest},
		{name: ".git", want: image.ClutterVCS},
		{name: ".git", dir: true, want: image.ClutterVCS},
		{name: "prod.auto.tfvars", want: image.ClutterCredential},
		{name: "ID_RSA", want: image.ClutterCredential},
		{name: "id_rsa.pub"},
		{name: ".aws", dir: true, want: image.ClutterCredential},
		{name: "ca.pem", content: cert},
		{name: "server.pem", content: key, want: image.ClutterCredential},
		{name: "sa.json", content: `{"private_key": "-----BEGIN PRIVATE KEY-----\n"}`, want: image.ClutterCredential},
		{name: "variables.tf.json", content: "{}"},
		{name: "captf-harness.json", content: "{}", want: image.ClutterTool},
		{name: "README.md", want: image.ClutterText},
		{name: "Containerfile.terraform", want: image.ClutterTool},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rule, found := image.FindClutter(tt.name, tt.dir)
			if found && !rule.Holds([]byte(tt.content)) {
				rule = image.ClutterRule{}
			}
			if rule.Kind != tt.want {
				t.Errorf("got %q, want %q", rule.Kind, tt.want)
			}
		})
	}
}

func TestClutterTable(t *testing.T) {
	content := false
	for _, r := range image.Clutter() {
		if _, err := path.Match(r.Pattern, "x"); err != nil {
			t.Errorf("%q: %v", r.Pattern, err)
		}
		if r.Pattern != strings.ToLower(r.Pattern) || strings.Contains(r.Pattern, "/") {
			t.Errorf("%q is not the lower-case pattern of one name", r.Pattern)
		}
		if content && r.Content == "" {
			t.Errorf("%q comes after rules with content, which would hide it", r.Pattern)
		}
		content = content || r.Content != ""
		if r.Dir && r.File || r.Kind == "" || r.Dir && r.Content != "" {
			t.Errorf("%+v contradicts itself", r)
		}
	}
}

func TestFindSecret(t *testing.T) {
	const begin = "-----BEGIN "
	for name, tc := range map[string]struct {
		content string
		want    image.ClutterKind
	}{
		"key":           {begin + "RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123456789\n", image.ClutterCredential},
		"in a script":   {"cat > key <<EOF\n" + begin + "PRIVATE KEY-----\r\nMC4CAQAwBQYDK2VwBCIEIA\nEOF\n", image.ClutterCredential},
		"encrypted":     {begin + "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", image.ClutterCredential},
		"second block":  {begin + "CERTIFICATE-----\nMIIB\n" + begin + "EC PRIVATE KEY-----\nMHcCAQEEIIrYSSNQFaA2Hwf1\n", image.ClutterCredential},
		"state":         {`{"version":4,"terraform_version":"1.12.6","serial":3,"lineage":"a"}`, image.ClutterState},
		"certificate":   {begin + "CERTIFICATE-----\nMIIBhTCCASugAwIBAgIQIRi6zePL\n", ""},
		"template":      {begin + "PRIVATE KEY-----\n${tls_private_key.this.private_key_pem}\n", ""},
		"mentions it":   {"# the file begins with " + begin + "PRIVATE KEY-----\n", ""},
		"never closed":  {begin + "PRIVATE KEY", ""},
		"other JSON":    {`{"serial":3,"lineage":"a"}`, ""},
		"empty":         {"", ""},
		"public key":    {begin + "PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6F\n", ""},
		"module source": {"resource \"terraform_data\" \"a\" {}\n", ""},
	} {
		kind, found := image.FindSecret([]byte(tc.content))
		if kind != tc.want || found != (tc.want != "") {
			t.Errorf("%s: got %q, %v; want %q", name, kind, found, tc.want)
		}
	}
}
