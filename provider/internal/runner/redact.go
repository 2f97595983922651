package runner

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	tfjson "github.com/hashicorp/terraform-json"
)

// sensitive replaces a secret (B-618).
const sensitive = "(sensitive)"

const (
	// Shorter values are not replaced: they occur everywhere by chance.
	minSecret = 4
	// Values of the environment are taken for secrets from this length on, whatever their name, and so are the lines of a
	// secret that has several.
	minLong = 16
	// A secret that is larger is replaced by its lines only.
	maxForm = 2 << 20
	// maxForms bounds the memory of the replacer.
	maxForms = 100_000

	maxCredentialFiles = 128
	maxCredentialFile  = 1 << 20
)

// secretWords are the parts of the names of environment variables whose values are secrets at any length.
var secretWords = []string{"KEY", "SECRET", "TOKEN", "PASS", "CREDENTIAL", "PRIVATE", "AUTH", "CERT", "SESSION"}

// plainVariables are set by Kubernetes or by the Job and say where things are. Their values are no secrets, however long,
// and replacing them would hide the paths and names that a message is about.
var plainVariables = []string{
	"HOME", "HOSTNAME", "KUBE_NAMESPACE", "KUBERNETES_SERVICE_HOST", "LANG", "OLDPWD", "PATH", "PWD", "TMPDIR", "TF_DATA_DIR",
}

// words are values that are no secrets whatever their variable is called.
var words = []string{"true", "false", "none", "null", "auto", "default", "enabled", "disabled"}

// redactor replaces secrets in text. It may be used by several goroutines, and learns more secrets while it is used.
type redactor struct {
	mu       sync.Mutex
	forms    map[string]struct{}
	replacer atomic.Pointer[replacer]
}

type replacer struct {
	r *strings.Replacer
	// longest form, in bytes.
	longest int
}

func newRedactor() *redactor { return &redactor{forms: map[string]struct{}{}} }

// add learns secrets in every form in which a runtime may print them: as they are, by lines, quoted, and in base64.
func (r *redactor) add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.forms)
	for _, s := range secrets {
		for _, f := range formsOf(s) {
			if len(r.forms) >= maxForms {
				break
			}
			r.forms[f] = struct{}{}
		}
	}
	if len(r.forms) == before {
		return
	}
	list := make([]string, 0, len(r.forms))
	for f := range r.forms {
		list = append(list, f)
	}
	// The first match wins: longest first, so that no rest of a longer secret stays behind a shorter one.
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(list))
	for _, f := range list {
		pairs = append(pairs, f, sensitive)
	}
	r.replacer.Store(&replacer{r: strings.NewReplacer(pairs...), longest: len(list[0])})
}

func formsOf(secret string) []string {
	variants := []string{secret, strings.TrimSpace(secret)}
	if strings.ContainsAny(secret, "\r\n") {
		for l := range strings.Lines(secret) {
			if l = strings.TrimSpace(l); len(l) >= minLong {
				variants = append(variants, l)
			}
		}
	}
	var forms []string
	for _, v := range variants {
		if len(v) < minSecret || len(v) > maxForm || slices.Contains(words, strings.ToLower(v)) {
			continue
		}
		forms = append(forms, v)
		for _, f := range []string{jsonText(v, true), jsonText(v, false)} {
			if f != v {
				forms = append(forms, f)
			}
		}
		if len(v) >= minLong {
			forms = append(forms, base64.StdEncoding.EncodeToString([]byte(v)))
		}
	}
	return forms
}

// text replaces the secrets of a whole text.
func (r *redactor) text(s string) string {
	p := r.replacer.Load()
	if p == nil {
		return s
	}
	return p.r.Replace(s)
}

// line replaces the secrets of a line of output. The end of a line that was cut may hold the start of a secret, so that
// much of it is dropped.
func (r *redactor) line(text []byte, cut bool) string {
	p := r.replacer.Load()
	if p == nil {
		return string(text)
	}
	if cut {
		text = text[:max(0, len(text)-p.longest)]
	}
	return p.r.Replace(string(text))
}

// jsonText is s as the content of a JSON string.
func jsonText(s string, escapeHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if err := e.Encode(s); err != nil {
		return s
	}
	t := strings.TrimSuffix(b.String(), "\n")
	return t[1 : len(t)-1]
}

// addEnvironment learns the values of an environment. That of a Job is made for the run: every long value may be a secret. Around
// a local run are a user's own variables, of which only those count whose names say so: most long values are paths and the like,
// which messages are about.
func (r *redactor) addEnvironment(env []string, local bool) {
	var found []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains(plainVariables, name) {
			continue
		}
		name = strings.ToUpper(name)
		named := slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
		if local && named && !isPath(value) || !local && (named || len(value) >= minLong) {
			found = append(found, value)
		}
	}
	r.add(found...)
}

// isPath tells that a value says where a file is, as that of a variable like SSL_CERT_FILE or XDG_SESSION_PATH does, and there is one.
func isPath(value string) bool {
	if !filepath.IsAbs(value) {
		return false
	}
	_, err := os.Stat(value)
	return err == nil
}

// addFiles learns the content of the identity's files: a variable of the Job may have hidden the value of one.
func (r *redactor) addFiles(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there need not be any
	}
	var found []string
	for _, e := range entries[:min(len(entries), maxCredentialFiles)] {
		if strings.HasPrefix(e.Name(), "..") {
			continue
		}
		if content, err := readFile(filepath.Join(dir, e.Name()), maxCredentialFile); err == nil && utf8.Valid(content) {
			found = append(found, string(content))
		}
	}
	r.add(found...)
}

// addVariables learns the values of the root's sensitive variables, and what is behind those that are in base64, as a
// machine's bootstrap data are.
func (r *redactor) addVariables(root, values []byte) {
	var config struct {
		Variable map[string]struct {
			Sensitive bool `json:"sensitive"`
		} `json:"variable"`
	}
	var vars map[string]any
	if json.Unmarshal(root, &config) != nil || json.Unmarshal(values, &vars) != nil {
		return // the runtime will say what is wrong with them
	}
	var found []string
	for name, v := range vars {
		if config.Variable[name].Sensitive {
			texts(v, func(s string) {
				found = append(found, s)
				if plain, err := base64.StdEncoding.DecodeString(s); err == nil && len(s) >= minLong && utf8.Valid(plain) {
					found = append(found, string(plain))
				}
			})
		}
	}
	r.add(found...)
}

// addPlan learns the values that a plan marks as sensitive.
func (r *redactor) addPlan(planJSON []byte) {
	var p struct {
		Resources []*tfjson.ResourceChange  `json:"resource_changes"`
		Drift     []*tfjson.ResourceChange  `json:"resource_drift"`
		Outputs   map[string]*tfjson.Change `json:"output_changes"`
	}
	if json.Unmarshal(planJSON, &p) != nil {
		return // judging it will say what is wrong with it
	}
	var found []string
	learn := func(c *tfjson.Change) {
		if c != nil {
			marked(c.Before, c.BeforeSensitive, func(s string) { found = append(found, s) })
			marked(c.After, c.AfterSensitive, func(s string) { found = append(found, s) })
		}
	}
	for _, c := range slices.Concat(p.Resources, p.Drift) {
		if c != nil {
			learn(c.Change)
		}
	}
	for _, c := range p.Outputs {
		learn(c)
	}
	r.add(found...)
}

// marked finds the texts of a value where its marks have true.
func marked(v, marks any, found func(string)) {
	switch m := marks.(type) {
	case bool:
		if m {
			texts(v, found)
		}
	case []any:
		list, _ := v.([]any)
		for i := range min(len(m), len(list)) {
			marked(list[i], m[i], found)
		}
	case map[string]any:
		object, _ := v.(map[string]any)
		for key, mark := range m {
			marked(object[key], mark, found)
		}
	}
}

// texts finds all texts in a value.
func texts(v any, found func(string)) {
	switch v := v.(type) {
	case string:
		found(v)
	case []any:
		for _, part := range v {
			texts(part, found)
		}
	case map[string]any:
		for _, part := range v {
			texts(part, found)
		}
	}
}

// readFile reads a regular file with a limit.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "read", Path: path, Err: errNotRegular}
	case info.Size() > limit:
		return nil, &fs.PathError{Op: "read", Path: path, Err: errTooLarge}
	}
	content := make([]byte, info.Size())
	n, err := readFull(f, content)
	return content[:n], err
}
