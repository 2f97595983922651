package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// liftFile overrides prevent_destroy in a copy of the module. Of several
// override files the last by name wins.
const liftFile = "zz_captf_harness_override.tf.json"

// liftedCopy is a copy of a module without prevent_destroy, so that what the
// harness makes can be deleted (authoring.md 6: it blocks the final deletion
// until it is lifted).
type liftedCopy struct {
	// protected are the resources with prevent_destroy, by address.
	protected []protectedResource
	// ok tells that the copy exists.
	ok   bool
	root root
}

// protectedResource is a resource with prevent_destroy.
type protectedResource struct {
	harness.Protected
	// dir is its module's directory, relative and with slashes.
	dir string
	// typ and name are its labels.
	typ, name string
}

// protectedResources finds the resources of the module, and of local modules
// below it, whose prevent_destroy is set and not to a plain false.
func protectedResources(view *module.Module, place func(file string, line int) string) []protectedResource {
	var out []protectedResource
	walkCalls(view, func(prefix string, m *module.Module) {
		for _, r := range m.Resources {
			attr := r.Lifecycle.PreventDestroy
			if r.Mode != module.Managed || attr == nil {
				continue
			}
			if v, diags := attr.Expr.Value(nil); !diags.HasErrors() && v.IsKnown() && !v.IsNull() && v.False() {
				continue
			}
			out = append(out, protectedResource{
				Protected: harness.Protected{Address: prefix + r.Address(), Range: place(attr.Range.Filename, attr.Range.Start.Line)},
				dir:       m.Dir, typ: r.Type, name: r.Name,
			})
		}
	})
	slices.SortFunc(out, func(a, b protectedResource) int { return strings.Compare(a.Address, b.Address) })
	return out
}

// lift makes the copy of a module whose resources are protected. Without one,
// because the module only works where it is, the protection stays.
func (d *roleDir) lift(ctx context.Context) error {
	if len(d.lifted.protected) == 0 || d.member.escapes(d.r.reader()) {
		return nil
	}
	rt, err := d.copyFor(ctx, ".lifted", func(to string) error {
		byDir := map[string][]protectedResource{}
		for _, p := range d.lifted.protected {
			byDir[p.dir] = append(byDir[p.dir], p)
		}
		for dir, list := range byDir {
			text, err := liftJSON(list)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(to, filepath.FromSlash(dir), liftFile), text, 0o600); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errNoCopy) {
		return nil
	}
	d.lifted.root, d.lifted.ok = rt, err == nil
	return err
}

// liftJSON turns prevent_destroy off for the resources of one directory.
func liftJSON(list []protectedResource) ([]byte, error) {
	resources := map[string]map[string]any{}
	for _, p := range list {
		if resources[p.typ] == nil {
			resources[p.typ] = map[string]any{}
		}
		resources[p.typ][p.name] = map[string]any{"lifecycle": map[string]any{"prevent_destroy": false}}
	}
	return json.MarshalIndent(map[string]any{"resource": resources}, "", "  ")
}

// protects tells that a run failed because of prevent_destroy.
func protects(run *harness.Run) bool {
	return run.Failed && slices.ContainsFunc(run.Diagnostics, func(d harness.Diagnostic) bool {
		return d.Severity == string(runtime.SeverityError) && harness.BlockedByPreventDestroy(d)
	})
}

// destroy destroys an object. A cluster's protection is right (CP-005) and
// lifted, as a person would before a deletion. That of a machine or pool is a
// fault, since they are replaced by deleting them: the result says so, and the
// object is then deleted all the same, so that nothing is left.
func (o *object) destroy(ctx context.Context, in contract.Inputs) (*harness.Run, error) {
	rt, lifted := o.role.plainRoot(), o.role.lifted
	if lifted.ok && o.role.member.role == contract.RoleCluster {
		rt = lifted.root
	}
	do := func(ctx context.Context, w *runtime.Workdir) (*runtime.Result, error) {
		return w.Destroy(ctx, runtime.ApplyOptions{})
	}
	run, err := o.run(ctx, harness.OpDestroy, in, rt, do)
	if err != nil || !lifted.ok || rt == lifted.root || !protects(run) {
		return run, err
	}
	if _, err := o.run(ctx, harness.OpDestroy, in, lifted.root, do); err != nil {
		return nil, fmt.Errorf("destroying with prevent_destroy lifted: %w", err)
	}
	return run, nil
}
