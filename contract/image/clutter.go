package image

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

// ClutterKind groups what should not ship in a module image by what it is.
type ClutterKind string

// The kinds of clutter.
const (
	// ClutterState is the state of a run, which holds secrets in clear.
	ClutterState ClutterKind = "state"
	// ClutterCache is what a runtime downloads or writes for itself.
	ClutterCache ClutterKind = "cache"
	// ClutterLock is the lock file, which a Job never reads (image.md 3).
	ClutterLock ClutterKind = "lock file"
	// ClutterTest is a test.
	ClutterTest ClutterKind = "test"
	// ClutterVCS belongs to version control.
	ClutterVCS ClutterKind = "version control"
	// ClutterCredential is a credential, or a file that usually holds some.
	ClutterCredential ClutterKind = "credential"
	// ClutterText is text for people.
	ClutterText ClutterKind = "documentation"
	// ClutterTool configures a tool that works on the module's source.
	ClutterTool ClutterKind = "tool configuration"
)

// Harmless tells that what has the kind is useless in an image and nothing
// worse: a builder leaves it out, and a linter need not mention it.
func (k ClutterKind) Harmless() bool { return k == ClutterText || k == ClutterTool }

// ClutterRule is a row of the table of what should not ship in the module
// directory of an image (image.md 7 and 12, lint.md 8 G13).
type ClutterRule struct {
	// Pattern is matched with the lower-case name of a file or directory as
	// path.Match does. A directory that matches is clutter with all it holds.
	Pattern string
	// Dir tells that only directories match, File that only files do.
	Dir, File bool
	// Content is text that a file has to hold, for names that are not enough to
	// tell; empty when the name is.
	Content string
	// Kind says what it is.
	Kind ClutterKind
}

// ClutterHead is how much of a file's beginning is enough to look for
// ClutterRule.Content, in bytes.
const ClutterHead = 64 << 10

// privateKey is in every private key that is kept as text.
const privateKey = "PRIVATE KEY-----"

var clutter = []ClutterRule{
	{Pattern: "*.tfstate", Kind: ClutterState, File: true},
	{Pattern: "*.tfstate.*", Kind: ClutterState, File: true},
	{Pattern: "terraform.tfstate.d", Kind: ClutterState, Dir: true},
	{Pattern: "*.tfplan", Kind: ClutterState, File: true},
	{Pattern: "tfplan", Kind: ClutterState, File: true},
	{Pattern: "crash.log", Kind: ClutterState, File: true},
	{Pattern: "crash.*.log", Kind: ClutterState, File: true},

	{Pattern: ".terraform", Kind: ClutterCache},
	{Pattern: ".terragrunt-cache", Kind: ClutterCache, Dir: true},
	{Pattern: "node_modules", Kind: ClutterCache, Dir: true},
	{Pattern: "__pycache__", Kind: ClutterCache, Dir: true},
	{Pattern: ".terraform.lock.hcl", Kind: ClutterLock, File: true},

	{Pattern: "tests", Kind: ClutterTest, Dir: true},
	{Pattern: "*.tftest.hcl", Kind: ClutterTest, File: true},
	{Pattern: "*.tftest.json", Kind: ClutterTest, File: true},
	{Pattern: "*.tofutest.hcl", Kind: ClutterTest, File: true},
	{Pattern: "*.tofutest.json", Kind: ClutterTest, File: true},
	{Pattern: "*.tfmock.hcl", Kind: ClutterTest, File: true},
	{Pattern: "*.tofumock.hcl", Kind: ClutterTest, File: true},
	{Pattern: "*_test.go", Kind: ClutterTest, File: true},

	{Pattern: ".git", Kind: ClutterVCS},
	{Pattern: ".gitignore", Kind: ClutterVCS, File: true},
	{Pattern: ".gitattributes", Kind: ClutterVCS, File: true},
	{Pattern: ".gitmodules", Kind: ClutterVCS, File: true},
	{Pattern: ".gitkeep", Kind: ClutterVCS, File: true},
	{Pattern: ".github", Kind: ClutterVCS, Dir: true},
	{Pattern: ".gitlab", Kind: ClutterVCS, Dir: true},
	{Pattern: ".hg", Kind: ClutterVCS, Dir: true},
	{Pattern: ".svn", Kind: ClutterVCS, Dir: true},
	{Pattern: ".bzr", Kind: ClutterVCS, Dir: true},
	{Pattern: ".jj", Kind: ClutterVCS, Dir: true},

	// The values of a root module. In a module that is called they are never read.
	{Pattern: "*.tfvars", Kind: ClutterCredential, File: true},
	{Pattern: "*.tfvars.json", Kind: ClutterCredential, File: true},
	{Pattern: ".terraformrc", Kind: ClutterCredential, File: true},
	{Pattern: ".tofurc", Kind: ClutterCredential, File: true},
	{Pattern: "terraform.rc", Kind: ClutterCredential, File: true},
	{Pattern: "credentials.tfrc.json", Kind: ClutterCredential, File: true},
	{Pattern: ".env", Kind: ClutterCredential, File: true},
	{Pattern: ".env.*", Kind: ClutterCredential, File: true},
	{Pattern: ".envrc", Kind: ClutterCredential, File: true},
	{Pattern: ".netrc", Kind: ClutterCredential, File: true},
	{Pattern: "_netrc", Kind: ClutterCredential, File: true},
	{Pattern: ".npmrc", Kind: ClutterCredential, File: true},
	{Pattern: ".pypirc", Kind: ClutterCredential, File: true},
	{Pattern: ".pgpass", Kind: ClutterCredential, File: true},
	{Pattern: ".git-credentials", Kind: ClutterCredential, File: true},
	{Pattern: ".vault-token", Kind: ClutterCredential, File: true},
	{Pattern: ".dockercfg", Kind: ClutterCredential, File: true},
	{Pattern: ".dockerconfigjson", Kind: ClutterCredential, File: true},
	{Pattern: ".aws", Kind: ClutterCredential, Dir: true},
	{Pattern: ".azure", Kind: ClutterCredential, Dir: true},
	{Pattern: ".gcloud", Kind: ClutterCredential, Dir: true},
	{Pattern: ".oci", Kind: ClutterCredential, Dir: true},
	{Pattern: ".kube", Kind: ClutterCredential, Dir: true},
	{Pattern: ".ssh", Kind: ClutterCredential, Dir: true},
	{Pattern: ".gnupg", Kind: ClutterCredential, Dir: true},
	{Pattern: ".docker", Kind: ClutterCredential, Dir: true},
	{Pattern: "kubeconfig", Kind: ClutterCredential, File: true},
	{Pattern: "*.kubeconfig", Kind: ClutterCredential, File: true},
	{Pattern: "clouds.yaml", Kind: ClutterCredential, File: true},
	{Pattern: "clouds.yml", Kind: ClutterCredential, File: true},
	{Pattern: "secure.yaml", Kind: ClutterCredential, File: true},
	{Pattern: "secure.yml", Kind: ClutterCredential, File: true},
	{Pattern: "credentials", Kind: ClutterCredential, File: true},
	{Pattern: "credentials.json", Kind: ClutterCredential, File: true},
	{Pattern: "application_default_credentials.json", Kind: ClutterCredential, File: true},
	{Pattern: "id_rsa", Kind: ClutterCredential, File: true},
	{Pattern: "id_dsa", Kind: ClutterCredential, File: true},
	{Pattern: "id_ecdsa", Kind: ClutterCredential, File: true},
	{Pattern: "id_ed25519", Kind: ClutterCredential, File: true},
	{Pattern: "*.p12", Kind: ClutterCredential, File: true},
	{Pattern: "*.pfx", Kind: ClutterCredential, File: true},
	{Pattern: "*.jks", Kind: ClutterCredential, File: true},
	{Pattern: "*.kdbx", Kind: ClutterCredential, File: true},
	{Pattern: "*.ppk", Kind: ClutterCredential, File: true},

	{Pattern: "readme", Kind: ClutterText, File: true},
	{Pattern: "readme.*", Kind: ClutterText, File: true},
	{Pattern: "changelog", Kind: ClutterText, File: true},
	{Pattern: "changelog.*", Kind: ClutterText, File: true},
	{Pattern: "contributing.*", Kind: ClutterText, File: true},
	{Pattern: "codeowners", Kind: ClutterText, File: true},

	{Pattern: ".dockerignore", Kind: ClutterTool, File: true},
	{Pattern: ".containerignore", Kind: ClutterTool, File: true},
	{Pattern: "dockerfile", Kind: ClutterTool, File: true},
	{Pattern: "dockerfile.*", Kind: ClutterTool, File: true},
	{Pattern: "containerfile", Kind: ClutterTool, File: true},
	{Pattern: "containerfile.*", Kind: ClutterTool, File: true},
	{Pattern: "captf-harness.json", Kind: ClutterTool, File: true},
	{Pattern: ".captf-scaffold.json", Kind: ClutterTool, File: true},
	{Pattern: ".tfcapi-lint.*", Kind: ClutterTool, File: true},
	{Pattern: ".tflint.hcl", Kind: ClutterTool, File: true},
	{Pattern: ".terraform-docs.*", Kind: ClutterTool, File: true},
	{Pattern: ".terraform-version", Kind: ClutterTool, File: true},
	{Pattern: ".opentofu-version", Kind: ClutterTool, File: true},
	{Pattern: ".tool-versions", Kind: ClutterTool, File: true},
	{Pattern: ".terraformignore", Kind: ClutterTool, File: true},
	{Pattern: ".pre-commit-config.yaml", Kind: ClutterTool, File: true},
	{Pattern: ".pre-commit-hooks.yaml", Kind: ClutterTool, File: true},
	{Pattern: ".gitlab-ci.yml", Kind: ClutterTool, File: true},
	{Pattern: ".editorconfig", Kind: ClutterTool, File: true},
	{Pattern: "makefile", Kind: ClutterTool, File: true},
	{Pattern: ".ds_store", Kind: ClutterTool, File: true},
	{Pattern: "thumbs.db", Kind: ClutterTool, File: true},
	{Pattern: ".idea", Kind: ClutterTool, Dir: true},
	{Pattern: ".vscode", Kind: ClutterTool, Dir: true},
	{Pattern: "*~", Kind: ClutterTool, File: true},
	{Pattern: "*.swp", Kind: ClutterTool, File: true},

	// Rules with Content come last: the first rule that matches a name counts.
	// A module may well ship certificates of authorities.
	{Pattern: "*.pem", Kind: ClutterCredential, File: true, Content: privateKey},
	{Pattern: "*.key", Kind: ClutterCredential, File: true, Content: privateKey},
	{Pattern: "*.json", Kind: ClutterCredential, File: true, Content: privateKey}, // keys of service accounts
}

// Clutter returns the table of what should not ship in a module image.
func Clutter() []ClutterRule { return append([]ClutterRule(nil), clutter...) }

// FindClutter returns the first rule that a file or directory with the name, the
// last element of its path, breaks. A rule that has Content is returned as well;
// see ClutterRule.Holds.
func FindClutter(name string, dir bool) (ClutterRule, bool) {
	name = strings.ToLower(path.Base(name))
	for _, r := range clutter {
		if r.Dir && !dir || r.File && dir {
			continue
		}
		if ok, err := path.Match(r.Pattern, name); err == nil && ok {
			return r, true
		}
	}
	return ClutterRule{}, false
}

// Holds tells whether a file whose name matches is clutter, by its first
// ClutterHead bytes.
func (r ClutterRule) Holds(head []byte) bool {
	return r.Content == "" || bytes.Contains(head, []byte(r.Content))
}

// stateMarks are in every state that either runtime writes.
var stateMarks = [][]byte{[]byte(`"lineage"`), []byte(`"serial"`), []byte(`"terraform_version"`)}

// FindSecret tells what the content of a file is that must not ship whatever its
// name, by its first ClutterHead bytes: a private key, or the state of a run. A
// template that only mentions one is none.
func FindSecret(head []byte) (ClutterKind, bool) {
	for rest := head; ; {
		_, after, found := bytes.Cut(rest, []byte("-----BEGIN "))
		if !found {
			break
		}
		label, body, closed := bytes.Cut(after, []byte("-----"))
		// The key itself is base64; a placeholder of a template is not.
		if closed && bytes.HasSuffix(label, []byte("PRIVATE KEY")) && keyBody.Match(body) {
			return ClutterCredential, true
		}
		rest = after
	}
	for _, mark := range stateMarks {
		if !bytes.Contains(head, mark) {
			return "", false
		}
	}
	return ClutterState, true
}

// keyBody is the beginning of what stands between the lines of a private key:
// headers of an old encrypted one, or base64.
var keyBody = regexp.MustCompile(`^\s*(?:Proc-Type:|[A-Za-z0-9+/]{16})`)
