package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// Leftover is an object whose infrastructure still exists.
type Leftover struct {
	// Object is its kind and name, such as TerraformMachine/demo-cp-1.
	Object string
	// Dir is its working directory, in which the runtime can be run by hand with
	// Env, an assignment for the shell.
	Dir, Env string
	// Resources is how many managed resources are in its state.
	Resources int
	// First is what must be done before that, "" when nothing must.
	First string
}

// Left returns the objects whose states hold resources, in the order of
// deletion: machines and pools by name, then clusters.
func (r *Runner) Left() ([]Leftover, error) {
	var left []Leftover
	var errs []error
	for _, o := range r.created() {
		n, err := o.count()
		if err != nil {
			errs = append(errs, err) // what cannot be read may hold anything
		}
		if n > 0 || err != nil {
			l := Leftover{Object: o.ref(), Dir: o.dir, Env: "TF_DATA_DIR=../.terraform", Resources: n}
			if err := o.leave(&l); err != nil {
				errs = append(errs, err)
			}
			left = append(left, l)
		}
	}
	return left, errors.Join(errs...)
}

// leave makes an object's directory one in which a destroy by hand works.
func (o *object) leave(l *Leftover) error {
	lifted := o.role.lifted
	if len(lifted.protected) == 0 {
		return nil
	}
	if !lifted.ok || o.inputs == nil {
		p := lifted.protected[0]
		l.First = fmt.Sprintf("lift prevent_destroy of %s (%s)", p.Address, p.Range)
		return nil
	}
	if _, err := o.prepare(o.inputs, lifted.root, nil); err != nil {
		return err
	}
	l.Env = "TF_DATA_DIR=../.lifted/.terraform"
	return nil
}

// created returns the objects that something was run for, in the order of deletion.
func (r *Runner) created() []*object {
	r.mu.Lock()
	defer r.mu.Unlock()
	objects := make([]*object, 0, len(r.objects))
	for _, o := range r.objects {
		objects = append(objects, o)
	}
	slices.SortFunc(objects, func(a, b *object) int {
		if d := boolCompare(a.isCluster(), b.isCluster()); d != 0 {
			return d
		}
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return objects
}

// ref is the object's kind and name, as its inputs have it.
func (o *object) ref() string {
	if o.inputs == nil {
		return o.role.member.role.Kind() + "/" + o.name
	}
	return o.role.member.role.Kind() + "/" + o.inputs.Common().Object.Name
}

func (o *object) isCluster() bool { return o.role.member.role == contract.RoleCluster }

// count is the number of managed resources in the object's state.
func (o *object) count() (int, error) {
	raw, err := os.ReadFile(filepath.Join(o.dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var state *runtime.State
	if err == nil {
		state, err = runtime.DecodeState(raw)
	}
	if err != nil {
		return 0, fmt.Errorf("looking at what is left of %s: %w", o.name, err)
	}
	n := 0
	for _, res := range state.Resources {
		if res.Managed {
			n++
		}
	}
	return n, nil
}
