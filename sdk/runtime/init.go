package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
)

// Limits of the files that decide about init.
const (
	maxConfigFile = 16 << 20
	maxInitFiles  = 10_000
)

// stampPath holds the digest of what the last init was done for. It lies in the
// runtime's own directory, so that deleting that asks for a new init.
func (w *Workdir) stampPath() string { return filepath.Join(w.abs, ".terraform", "captf-init") }

// initialised reports whether the last init still holds.
func (w *Workdir) initialised(o InitOptions) bool {
	stamp, err := readLimited(w.stampPath(), 1<<10)
	if err != nil {
		return false
	}
	digest, err := w.initDigest(o)
	return err == nil && string(stamp) == digest
}

// rememberInit notes what init was done for. If it cannot, the next init runs again.
func (w *Workdir) rememberInit(o InitOptions) {
	if info, err := os.Stat(filepath.Dir(w.stampPath())); err != nil || !info.IsDir() {
		return // the runtime needed no directory
	}
	digest, err := w.initDigest(o)
	if err != nil {
		return
	}
	if os.WriteFile(w.stampPath(), []byte(digest), 0o600) != nil {
		w.forgetInit()
	}
}

func (w *Workdir) forgetInit() { _ = os.Remove(w.stampPath()) }

// initDigest covers everything that init reads: the runtime, its arguments, its CLI
// configuration, where plugins are attached, the lock file, and the configuration of
// the root and of all modules that init installed.
func (w *Workdir) initDigest(o InitOptions) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q\n", w.bin.Path, w.bin.Kind, w.bin.Version, o.BackendConfig, o.PluginDir)
	for _, kv := range w.env {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "TF_") {
			// The address of an attached provider changes at each start; which are attached counts.
			if name == "TF_REATTACH_PROVIDERS" {
				kv = name + "=" + strings.Join(attached(kv), ",")
			}
			fmt.Fprintf(h, "%q\n", kv)
			if name == "TF_CLI_CONFIG_FILE" {
				if err := hashFile(h, strings.TrimPrefix(kv, name+"="), true); err != nil {
					return "", err
				}
			}
		}
	}
	for _, c := range o.BackendConfig {
		if !strings.Contains(c, "=") {
			if err := hashFile(h, filepath.Join(w.abs, c), true); err != nil {
				return "", err
			}
		}
	}
	if err := hashFile(h, filepath.Join(w.abs, ".terraform.lock.hcl"), true); err != nil {
		return "", err
	}
	dirs, err := w.moduleDirs()
	if err != nil {
		return "", err
	}
	files := 0
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q\n", dir)
		for _, e := range entries {
			if !isConfig(e.Name()) {
				continue
			}
			if files++; files > maxInitFiles {
				return "", fmt.Errorf("more than %d configuration files", maxInitFiles)
			}
			if err := hashFile(h, filepath.Join(dir, e.Name()), false); err != nil {
				return "", err
			}
		}
	}
	return "captf-init/1 " + hex.EncodeToString(h.Sum(nil)), nil
}

// attached are the providers of a TF_REATTACH_PROVIDERS entry, without addresses.
func attached(kv string) []string {
	_, value, _ := strings.Cut(kv, "=")
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(value), &m) != nil {
		return []string{value}
	}
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// moduleDirs are the root and the installed modules, as the runtime's manifest has them.
func (w *Workdir) moduleDirs() ([]string, error) {
	dirs := []string{w.abs}
	raw, err := readLimited(filepath.Join(w.abs, ".terraform", "modules", "modules.json"), maxConfigFile)
	if os.IsNotExist(err) {
		return dirs, nil
	}
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Modules []struct {
			Dir string `json:"Dir"`
		} `json:"Modules"`
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return nil, err
	}
	for _, m := range manifest.Modules {
		dir := m.Dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(w.abs, dir)
		}
		dirs = append(dirs, filepath.Clean(dir))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

func isConfig(name string) bool {
	for _, suffix := range []string{".tf", ".tf.json", ".tofu", ".tofu.json"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

func hashFile(h hash.Hash, path string, mayMiss bool) error {
	content, err := readLimited(path, maxConfigFile)
	if mayMiss && os.IsNotExist(err) {
		fmt.Fprintf(h, "%q missing\n", path)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%q %d\n", path, len(content))
	_, _ = h.Write(content) // a hash has no errors
	return nil
}

// readLimited reads a regular file, or a device such as the null device, with a limit.
func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if m := info.Mode(); !m.IsRegular() && m&fs.ModeDevice == 0 {
		return nil, fmt.Errorf("reading %s: it is not a regular file", path)
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("reading %s: it has more than %d bytes", path, limit)
	}
	return content, nil
}

// Root blocks with which a directory needs no init, and the only resource type of the
// provider that is built in. Everything else asks for init, be it only perhaps.
var (
	plainBlocks = hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "output", LabelNames: []string{"name"}},
		{Type: "locals"},
		{Type: "resource", LabelNames: []string{"type", "name"}},
		{Type: "terraform"},
	}}
	plainTerraform = hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "required_version"}}}
)

// needsNoInit reports whether the root is flat: local state in the usual place and no
// object, module or provider that is not built into the runtime.
func (w *Workdir) needsNoInit(o InitOptions) bool {
	if len(o.BackendConfig) > 0 {
		return false
	}
	// Left from another configuration: init decides what becomes of it.
	for _, name := range []string{".terraform", ".terraform.lock.hcl"} {
		if _, err := os.Lstat(filepath.Join(w.abs, name)); !os.IsNotExist(err) {
			return false
		}
	}
	entries, err := os.ReadDir(w.abs)
	if err != nil {
		return false
	}
	parser, read := hclparse.NewParser(), 0
	for _, e := range entries {
		if !isConfig(e.Name()) {
			continue
		}
		path := filepath.Join(w.abs, e.Name())
		content, err := readLimited(path, maxConfigFile)
		if err != nil {
			return false
		}
		parse := parser.ParseHCL
		if strings.HasSuffix(e.Name(), ".json") {
			parse = parser.ParseJSON
		}
		f, diags := parse(content, path)
		if diags.HasErrors() || !flat(f.Body) {
			return false
		}
		read++
	}
	if read == 0 {
		return false
	}
	st, err := w.State()
	if err != nil {
		return false
	}
	for _, r := range st.Resources {
		if r.Type != "terraform_data" {
			return false
		}
	}
	return true
}

func flat(body hcl.Body) bool {
	content, diags := body.Content(&plainBlocks)
	if diags.HasErrors() {
		return false
	}
	for _, b := range content.Blocks {
		switch b.Type {
		case "resource":
			if b.Labels[0] != "terraform_data" {
				return false
			}
		case "terraform":
			if _, diags := b.Body.Content(&plainTerraform); diags.HasErrors() {
				return false
			}
		}
	}
	return true
}
