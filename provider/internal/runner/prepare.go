package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/provider/internal/record"
)

var (
	errNotRegular = errors.New("it is not a regular file")
	errTooLarge   = errors.New("it is too large")
)

// Limits of the configuration directory: far more than the Secret behind it can hold.
const (
	maxConfigFiles = 100
	maxConfigFile  = 8 << 20
)

// overrideFile is read by the runtimes after the root module and replaces parts of it.
const overrideFile = "captf_override.tf.json"

// moduleSuffixes are those of module files (image.md 2).
var moduleSuffixes = []string{".tf", ".tf.json", ".tofu", ".tofu.json"}

// checkLayout tells what an image lacks to be a module image (B-582).
func checkLayout(module, runtime string) error {
	entries, err := os.ReadDir(module)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist: the image is no module image", module)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w; it must be readable by the image's user", module, errors.Unwrap(err))
	}
	found := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && slices.ContainsFunc(moduleSuffixes, func(s string) bool { return strings.HasSuffix(e.Name(), s) })
	})
	if !found {
		return fmt.Errorf("%s has no %s file at its top level", module, strings.Join(moduleSuffixes, ", "))
	}
	info, err := os.Stat(runtime)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist: the image has no runtime", runtime)
	case err != nil:
		return fmt.Errorf("reading %s: %w", runtime, errors.Unwrap(err))
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", runtime)
	case info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%s is not executable", runtime)
	}
	return nil
}

// workspace is where the steps are run.
type workspace struct {
	root string
	// env is the whole environment of the runtime, dropped the names of variables that it does not get.
	env, dropped []string
	// mirror tells that the image has a provider mirror.
	mirror bool
}

// prepare makes the root directory from the configuration, the CLI configuration and the environment (B-583, B-584), and
// teaches the redactor what the run's secrets are.
func prepare(o Options, process []string, secrets *redactor) (*workspace, error) {
	secrets.addEnvironment(process, o.Local)
	if o.Credentials != "" {
		secrets.addFiles(o.Credentials)
	}
	w := &workspace{root: filepath.Join(o.Work, filepath.Base(image.RootPath))}
	files, err := readConfig(o.Config)
	if err != nil {
		return nil, err
	}
	secrets.addVariables(files[record.KeyRoot], files[record.KeyValues])

	if err := os.MkdirAll(w.root, 0o700); err != nil {
		return nil, fmt.Errorf("making the root directory: %w", err)
	}
	if err := empty(w.root); err != nil {
		return nil, err
	}
	if files[record.KeyRoot], err = w.relocate(o.Module, files[record.KeyRoot]); err != nil {
		return nil, err
	}
	if o.Local {
		if files[overrideFile], err = localBackend(o.State); err != nil {
			return nil, err
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(w.root, name), content, 0o600); err != nil {
			return nil, fmt.Errorf("copying the configuration: %w", err)
		}
	}

	w.env, w.dropped = image.RunEnvironment(process, o.Work)
	if info, err := os.Stat(o.Providers); err == nil && info.IsDir() {
		w.mirror = true
		path := filepath.Join(o.Work, filepath.Base(image.CLIConfigPath))
		if err := os.WriteFile(path, []byte(image.CLIConfigFor(o.Providers)), 0o600); err != nil {
			return nil, fmt.Errorf("writing the CLI configuration: %w", err)
		}
		w.env = append(w.env, "TF_CLI_CONFIG_FILE="+path)
	}
	if o.Local {
		w.allowDebugging(process)
	}
	for _, kv := range w.env {
		if dir, ok := strings.CutPrefix(kv, "TMPDIR="); ok {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return nil, fmt.Errorf("making the directory for temporary files: %w", err)
			}
		}
	}
	return w, nil
}

// allowDebugging hands on what makes a runtime log more, which a Job must not.
func (w *workspace) allowDebugging(process []string) {
	for _, kv := range process {
		if name, _, _ := strings.Cut(kv, "="); name == "TF_LOG" || strings.HasPrefix(name, "TF_LOG_") {
			w.env = append(w.env, kv)
			w.dropped = slices.DeleteFunc(w.dropped, func(d string) bool { return d == name })
		}
	}
}

// readConfig reads the top-level files of the configuration. A mounted Secret has links and a directory beside them, which
// begin with two dots.
func readConfig(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
		if strings.HasPrefix(e.Name(), "..") || !info.Mode().IsRegular() || isState(e.Name()) {
			continue
		}
		if len(files) == maxConfigFiles {
			return nil, fmt.Errorf("reading the configuration: %s has more than %d files", dir, maxConfigFiles)
		}
		if files[e.Name()], err = readFile(path, maxConfigFile); err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
	}
	for _, name := range []string{record.KeyRoot, record.KeyValues} {
		if _, ok := files[name]; !ok {
			return nil, fmt.Errorf("reading the configuration: %s has no %s", dir, name)
		}
	}
	return files, nil
}

// isState tells the state of a local run from the configuration beside it.
func isState(name string) bool {
	return strings.HasSuffix(name, ".tfstate") || strings.HasSuffix(name, ".tfstate.backup") || strings.HasSuffix(name, ".lock.info")
}

// empty removes what an earlier run left in the root directory, but for what is worth keeping: the lock file, by which init
// can be skipped, and a state that could not be stored.
func empty(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return fmt.Errorf("clearing the root directory: %w", err)
	}
	for _, e := range entries {
		if e.Name() == lockFile || e.Name() == erroredState {
			continue
		}
		if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
			return fmt.Errorf("clearing the root directory: %w", err)
		}
	}
	return nil
}

// relocate names the module where it is, if it is not in its place in an image. Nothing but the path is replaced, so that a
// runtime checks the call of the module, and names places in it, as it does in a Job: what is overridden it does not check. A
// root that cannot be read is reported by the runtime, with the place.
func (w *workspace) relocate(module string, root []byte) ([]byte, error) {
	file, diags := hcljson.Parse(root, record.KeyRoot)
	if diags.HasErrors() {
		return root, nil
	}
	content, _, _ := file.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "module", LabelNames: []string{"name"}}}})
	for _, call := range slices.Backward(content.Blocks) { // from the end, so that the places of those before stay
		attributes, _, _ := call.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}}})
		source := attributes.Attributes["source"]
		if source == nil {
			continue
		}
		path, diags := source.Expr.Value(nil)
		if diags.HasErrors() || path.IsNull() || path.Type() != cty.String {
			continue
		}
		if from := path.AsString(); !strings.HasPrefix(from, "./") && !strings.HasPrefix(from, "../") || filepath.Join(w.root, from) == module {
			continue
		}
		rel, err := filepath.Rel(w.root, module)
		if err != nil {
			return nil, fmt.Errorf("finding the way from %s to the module: %w", w.root, err)
		}
		if !strings.HasPrefix(rel, "../") {
			rel = "./" + rel
		}
		quoted, err := quote(rel)
		if err != nil {
			return nil, err
		}
		at := source.Expr.Range()
		root = slices.Concat(root[:at.Start.Byte], quoted, root[at.End.Byte:])
	}
	return root, nil
}

// localBackend is an override that keeps the state of a local run in a file.
func localBackend(path string) ([]byte, error) {
	quoted, err := quote(path)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(map[string]any{"terraform": map[string]any{"backend": map[string]any{"local": map[string]any{"path": json.RawMessage(quoted)}}}}, "", "  ")
}

// quote is a path as a value in a root module.
func quote(path string) ([]byte, error) {
	if strings.Contains(path, "${") || strings.Contains(path, "%{") {
		return nil, fmt.Errorf("writing the root module: %s holds ${ or %%{, which the runtimes take for a template; use another path", path)
	}
	quoted, err := json.Marshal(path)
	if err != nil {
		return nil, fmt.Errorf("writing the root module: %w", err)
	}
	return quoted, nil
}

// readFull reads what a file has, which may be less than its size said.
func readFull(r io.Reader, to []byte) (int, error) {
	n, err := io.ReadFull(r, to)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
