package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
)

// ErrNoLocalState is returned where the state is not a plain file here: another
// backend, another workspace, or an encrypted state.
var ErrNoLocalState = errors.New("the state is not a plain local file")

// State is what this package reads of a state file, format version 4.
type State struct {
	// Serial and Lineage are zero if there is no state yet.
	Serial  uint64
	Lineage string
	// Outputs of the root. An output whose value is null is not in it (harness.md H20).
	Outputs map[string]Output
	// Resources are all instances, deposed objects too, in the file's order.
	Resources []Resource
}

// Output is a root output value.
type Output struct {
	Value     json.RawMessage `json:"value"`
	Type      json.RawMessage `json:"type"`
	Sensitive bool            `json:"sensitive"`
}

// Resource is one object in a state.
type Resource struct {
	// Address of the instance, such as module.role.terraform_data.x["a"].
	Address string
	// Managed is false for data sources.
	Managed bool
	Type    string
	Name    string
	// Module is the address of the module instance, "" for the root.
	Module   string
	Provider string
	// Tainted objects are replaced by the next apply; Deposed ones, if not "", are the
	// rest of a replacement.
	Tainted bool
	Deposed string
	// Attributes as stored; they may hold secrets.
	Attributes json.RawMessage
	// Dependencies are addresses without instance keys.
	Dependencies []string
}

// Values are the outputs' values by name.
func (s *State) Values() map[string]json.RawMessage {
	values := make(map[string]json.RawMessage, len(s.Outputs))
	for name, o := range s.Outputs {
		values[name] = o.Value
	}
	return values
}

// StatePath is the path of the local state file, which need not exist yet. It follows
// what init was done for. The error is [ErrNoLocalState] if another backend or
// another workspace is in use.
func (w *Workdir) StatePath() (string, error) {
	if ws, err := readLimited(filepath.Join(w.abs, ".terraform", "environment"), 1<<10); err == nil {
		if name := strings.TrimSpace(string(ws)); name != "" && name != "default" {
			return "", fmt.Errorf("reading the state of %s: workspace %q is selected: %w", w.dir, name, ErrNoLocalState)
		}
	}
	path := "terraform.tfstate"
	raw, err := readLimited(filepath.Join(w.abs, ".terraform", "terraform.tfstate"), 1<<20)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("reading the backend of %s: %w", w.dir, err)
	default:
		var meta struct {
			Backend *struct {
				Type   string `json:"type"`
				Config struct {
					Path *string `json:"path"`
				} `json:"config"`
			} `json:"backend"`
		}
		if err := json.Unmarshal(raw, &meta); err != nil {
			return "", fmt.Errorf("reading the backend of %s: %w", w.dir, err)
		}
		if b := meta.Backend; b != nil {
			if b.Type != "local" {
				return "", fmt.Errorf("reading the state of %s: it is kept by backend %q: %w", w.dir, b.Type, ErrNoLocalState)
			}
			if b.Config.Path != nil && *b.Config.Path != "" {
				path = *b.Config.Path
			}
		}
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	return filepath.Join(w.abs, path), nil
}

// State reads the local state file without running the runtime. Before the first apply it
// is empty. For a state that is not a plain local file use ShowState.
func (w *Workdir) State() (*State, error) {
	path, err := w.StatePath()
	if err != nil {
		return nil, err
	}
	raw, err := readLimited(path, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return &State{Outputs: map[string]Output{}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading state: %w", err)
	}
	s, err := DecodeState(raw)
	if err != nil {
		return nil, fmt.Errorf("reading state %s: %w", path, err)
	}
	return s, nil
}

// Outputs returns the values of the root outputs in the state. A local state is read
// from its file; for any other the runtime is asked. Null values are missing (H20).
func (w *Workdir) Outputs(ctx context.Context) (map[string]json.RawMessage, error) {
	s, err := w.State()
	if err == nil {
		return s.Values(), nil
	}
	if !errors.Is(err, ErrNoLocalState) {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, doc, err := w.run(ctx, call{step: StepOutput, args: []string{"output", "-json"}, mode: documentMode})
	if err != nil {
		return nil, err
	}
	outputs := map[string]Output{}
	if err := json.Unmarshal(doc, &outputs); err != nil {
		return nil, w.garbage(StepOutput, err)
	}
	return (&State{Outputs: outputs}).Values(), nil
}

// ShowState asks the runtime for the whole state, whatever the backend.
func (w *Workdir) ShowState(ctx context.Context) (*tfjson.State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, doc, err := w.run(ctx, call{step: StepShow, args: []string{"show", "-json"}, mode: documentMode})
	if err != nil {
		return nil, err
	}
	s := &tfjson.State{}
	if err := json.Unmarshal(doc, s); err != nil {
		return nil, w.garbage(StepShow, err)
	}
	return s, nil
}

// ShowPlan asks the runtime for the whole content of a plan file, relative to the directory.
func (w *Workdir) ShowPlan(ctx context.Context, file string) (*tfjson.Plan, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, doc, err := w.run(ctx, call{step: StepShow, args: []string{"show", "-json", file}, mode: documentMode})
	if err != nil {
		return nil, err
	}
	p := &tfjson.Plan{}
	if err := json.Unmarshal(doc, p); err != nil {
		return nil, w.garbage(StepShow, err)
	}
	return p, nil
}

// ProviderSchemas returns what the runtime says of the schemas of all providers that the
// directory requires and that are installed, as one JSON document.
func (w *Workdir) ProviderSchemas(ctx context.Context) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, doc, err := w.run(ctx, call{step: StepSchemas, args: []string{"providers", "schema", "-json"}, mode: documentMode})
	return doc, err
}

func (w *Workdir) garbage(s Step, err error) error {
	return &RunError{Step: s, Dir: w.dir, Runtime: w.bin.String(), Err: fmt.Errorf("%w: %w", ErrGarbage, err)}
}

type wireState struct {
	Version   *int              `json:"version"`
	Serial    uint64            `json:"serial"`
	Lineage   string            `json:"lineage"`
	Outputs   map[string]Output `json:"outputs"`
	Encrypted json.RawMessage   `json:"encrypted_data"`
	Resources []struct {
		Module    string `json:"module"`
		Mode      string `json:"mode"`
		Type      string `json:"type"`
		Name      string `json:"name"`
		Provider  string `json:"provider"`
		Instances []struct {
			IndexKey     json.RawMessage `json:"index_key"`
			Status       string          `json:"status"`
			Deposed      string          `json:"deposed"`
			Attributes   json.RawMessage `json:"attributes"`
			Dependencies []string        `json:"dependencies"`
		} `json:"instances"`
	} `json:"resources"`
}

// DecodeState reads a state file of format version 4. An empty file, which runtimes leave
// when they are killed in their first run, is an empty state.
func DecodeState(raw []byte) (*State, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return &State{Outputs: map[string]Output{}}, nil
	}
	var f wireState
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if present(f.Encrypted) {
		return nil, fmt.Errorf("it is encrypted: %w", ErrNoLocalState)
	}
	if f.Version == nil || *f.Version != 4 {
		return nil, errors.New("it is not a state file of format version 4")
	}
	s := &State{Serial: f.Serial, Lineage: f.Lineage, Outputs: f.Outputs}
	if s.Outputs == nil {
		s.Outputs = map[string]Output{}
	}
	for _, r := range f.Resources {
		base := r.Type + "." + r.Name
		if r.Mode == "data" {
			base = "data." + base
		}
		if r.Module != "" {
			base = r.Module + "." + base
		}
		for _, i := range r.Instances {
			key, err := indexKey(i.IndexKey)
			if err != nil {
				return nil, fmt.Errorf("decoding the key of %s: %w", base, err)
			}
			s.Resources = append(s.Resources, Resource{
				Address: base + key, Managed: r.Mode == "managed", Type: r.Type, Name: r.Name, Module: r.Module,
				Provider: r.Provider, Tainted: i.Status == "tainted", Deposed: i.Deposed,
				Attributes: i.Attributes, Dependencies: i.Dependencies,
			})
		}
	}
	return s, nil
}

// indexKey is the instance key as the runtimes write it in an address.
func indexKey(raw json.RawMessage) (string, error) {
	if !present(raw) {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return "[" + quoteKey(s) + "]", nil
	}
	var n int
	if err := json.Unmarshal(raw, &n); err != nil {
		return "", fmt.Errorf("it is neither a number nor a text: %s", raw)
	}
	return "[" + strconv.Itoa(n) + "]", nil
}

// quoteKey quotes as HCL does: like Go, but template openings are doubled.
func quoteKey(s string) string {
	q := strconv.Quote(s)
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(q)
}
