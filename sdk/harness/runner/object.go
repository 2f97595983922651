package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// Files of a working directory (contract.md 12).
const (
	rootFile   = "main.tf.json"
	valuesFile = "terraform.tfvars.json"
	lockFile   = ".terraform.lock.hcl"
	stateFile  = "terraform.tfstate"
	// planFile is a plan that is read and deleted at once: it holds secrets.
	planFile = "captf.tfplan"
)

// roleDir is what the objects of one role share.
type roleDir struct {
	r      *Runner
	member *member
	info   harness.ModuleInfo
	user   userVariables
	// dir is SCRATCH/ROLE, absolute and without symbolic links.
	dir string
	// source is the module's path from any directory in dir.
	source string
	// declared are the names of the module's outputs.
	declared map[string]bool
	// builtin tells that the module needs no provider but the built-in one.
	builtin bool
	// changes is how many changes an apply makes at least that a simulated cloud sees.
	changes int
	fault   faultCopy
	lifted  liftedCopy
}

// dataDir is the data directory that the objects of a role share.
func (d *roleDir) dataDir() string { return filepath.Join(d.dir, ".terraform") }

// object is one object with its working directory.
type object struct {
	role *roleDir
	name string
	dir  string

	mu sync.Mutex
	// inputs are those of the newest run that may have changed something.
	inputs contract.Inputs
}

var (
	plainName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	unsafeRunes = regexp.MustCompile(`[^A-Za-z0-9._-]`)
)

// directoryName makes an object's name one that a file system takes, different
// for each object.
func directoryName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	slug := unsafeRunes.ReplaceAllString(name, "-")
	slug = strings.TrimLeft(slug[:min(len(slug), 80)], "-._")
	return strings.TrimLeft(slug+"-"+hex.EncodeToString(sum[:4]), "-")
}

// root is how a run's root differs from the plain one.
type root struct {
	// source is the module's path from the working directory.
	source string
	// dataDir is the data directory of the runtime.
	dataDir string
}

func (d *roleDir) plainRoot() root { return root{source: d.source, dataDir: d.dataDir()} }

// prepare writes the generated root and its values and opens the directory. Closing
// kill, which may be nil, kills the runtime.
func (o *object) prepare(in contract.Inputs, rt root, kill <-chan struct{}) (*runtime.Workdir, error) {
	d := o.role
	rendered, vs := d.r.o.Definition.Render(in, d.user.vars, contract.RenderOptions{
		Backend:      contract.Backend{Type: "local", Config: map[string]any{"path": stateFile}},
		ModuleSource: rt.source,
	})
	if len(vs) > 0 {
		return nil, fmt.Errorf("rendering the inputs of %s: %w", o.name, vs)
	}
	text, err := d.fit(rendered.Root)
	if err != nil {
		return nil, fmt.Errorf("rendering the inputs of %s: %w", o.name, err)
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return nil, fmt.Errorf("preparing %s: %w", o.name, err)
	}
	for _, f := range []struct {
		name    string
		content []byte
	}{{rootFile, text}, {valuesFile, rendered.Values}} {
		// Values hold secrets, and nobody but the user has business here.
		if err := os.WriteFile(filepath.Join(o.dir, f.name), f.content, 0o600); err != nil {
			return nil, fmt.Errorf("preparing %s: %w", o.name, err)
		}
	}
	if err := o.copyLock(); err != nil {
		return nil, fmt.Errorf("preparing %s: %w", o.name, err)
	}
	env, err := o.attach()
	if err != nil {
		return nil, err
	}
	return d.open(o.dir, rt.dataDir, env, append(secretsOf(in), d.user.secrets...), kill)
}

// open opens a directory of the role for the runtime.
func (d *roleDir) open(dir, dataDir string, attached map[string]string, secrets []string, kill <-chan struct{}) (*runtime.Workdir, error) {
	o := d.r.o
	timeouts := map[runtime.Step]time.Duration{}
	if o.StepTimeout != 0 {
		for _, s := range []runtime.Step{runtime.StepInit, runtime.StepPlan, runtime.StepApply, runtime.StepRefresh, runtime.StepDestroy, runtime.StepShow} {
			timeouts[s] = o.StepTimeout
		}
	}
	env := map[string]string{"TF_DATA_DIR": dataDir}
	maps.Copy(env, o.Env)
	maps.Copy(env, attached)
	return o.Binary.Workdir(dir, runtime.WorkdirOptions{
		Env: env, CLIConfig: o.CLIConfig, Secrets: secrets, Timeouts: timeouts, Grace: o.Grace, Force: o.Force, Kill: kill,
	})
}

// copyLock gives the object the lock file of its role. It is written once: the
// role's does not change after init.
func (o *object) copyLock() error {
	to := filepath.Join(o.dir, lockFile)
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	return copyFile(filepath.Join(o.role.initDir(), lockFile), to)
}

// copyFile copies a small file if there is one.
func copyFile(from, to string) error {
	raw, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o600)
}

// fit leaves out of a generated root what the module does not declare, so that
// the run goes on and the harness can say by name what is missing: the outputs
// of the contract that could not be read, and the arguments that would be
// refused (harness.md H2). Both are found before anything runs.
func (d *roleDir) fit(text []byte) ([]byte, error) {
	var doc map[string]json.RawMessage
	var outputs map[string]json.RawMessage
	var calls map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("reading the generated root: %w", err)
	}
	if err := json.Unmarshal(doc["output"], &outputs); err != nil {
		return nil, fmt.Errorf("reading the outputs of the generated root: %w", err)
	}
	if err := json.Unmarshal(doc["module"], &calls); err != nil {
		return nil, fmt.Errorf("reading the module call of the generated root: %w", err)
	}
	fits := true
	for name := range outputs {
		if !d.declared[name] {
			delete(outputs, name)
			fits = false
		}
	}
	spec := d.r.o.Definition.Spec(d.member.role)
	for _, in := range spec.Inputs {
		if _, ok := d.info.Variables[in.Name]; !ok {
			for _, call := range calls {
				delete(call, in.Name)
			}
			fits = false
		}
	}
	if fits {
		return text, nil
	}
	var err error
	if doc["output"], err = json.Marshal(outputs); err != nil {
		return nil, fmt.Errorf("writing the generated root: %w", err)
	}
	if len(outputs) == 0 {
		delete(doc, "output")
	}
	if doc["module"], err = json.Marshal(calls); err != nil {
		return nil, fmt.Errorf("writing the generated root: %w", err)
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the generated root: %w", err)
	}
	return append(out, '\n'), nil
}

// secretsOf are the values of inputs that may not be printed anywhere.
func secretsOf(in contract.Inputs) []string {
	switch in := in.(type) {
	case *contract.MachineInputs:
		return []string{string(in.Bootstrap.Data)}
	case *contract.PoolInputs:
		return []string{string(in.Bootstrap.Data)}
	}
	return nil
}

// adopt puts a state where the next run finds it that the runtime could not
// store there itself (design D7). It keeps the rescued file.
func (o *object) adopt(rescued string) error {
	if rescued == "" {
		return nil
	}
	raw, err := os.ReadFile(rescued)
	if err != nil {
		return fmt.Errorf("taking over the rescued state of %s: %w", o.name, err)
	}
	tmp := filepath.Join(o.dir, stateFile+".new")
	if err := os.WriteFile(tmp, raw, 0o600); err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("taking over the rescued state of %s: %w", o.name, err)
	}
	if err := os.Rename(tmp, filepath.Join(o.dir, stateFile)); err != nil {
		return fmt.Errorf("taking over the rescued state of %s: %w", o.name, err)
	}
	return nil
}
