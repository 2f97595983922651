package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// Leftover is an object whose infrastructure still exists.
type Leftover struct {
	// Object is its name, such as TerraformMachine/demo-cp-1.
	Object string
	// Dir is its working directory, in which `destroy` works by hand.
	Dir string
	// Resources is how many managed resources are in its state.
	Resources int
}

// Left returns the objects whose states hold resources, in the order of
// deletion: machines and pools by name, then clusters.
func (r *Runner) Left() ([]Leftover, error) {
	var left []Leftover
	var errs []error
	for _, o := range r.created() {
		n, err := o.count()
		if err != nil {
			// What cannot be read may hold anything.
			errs = append(errs, err)
			n = 0
		}
		if n > 0 || err != nil {
			left = append(left, Leftover{Object: o.name, Dir: o.dir, Resources: n})
		}
	}
	return left, errors.Join(errs...)
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

// DestroyAll destroys whatever still exists, with the inputs of each object's
// last run: machines and pools side by side, then clusters. It goes on after a
// failure, so that as little as possible is left; told, if set, hears of each
// object when it is done.
func (r *Runner) DestroyAll(ctx context.Context, told func(object string, run *harness.Run, err error)) error {
	var machines, clusters []*object
	for _, o := range r.created() {
		if o.isCluster() {
			clusters = append(clusters, o)
			continue
		}
		machines = append(machines, o)
	}
	if told == nil {
		told = func(string, *harness.Run, error) {}
	}
	var mu sync.Mutex
	var errs []error
	for _, group := range [][]*object{machines, clusters} {
		var wg sync.WaitGroup
		for _, o := range group {
			wg.Add(1)
			go func() {
				defer wg.Done()
				run, err := o.destroyLeft(ctx)
				if run == nil && err == nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				told(o.name, run, err)
				if err != nil {
					errs = append(errs, err)
				}
			}()
		}
		wg.Wait()
	}
	return errors.Join(errs...)
}

// destroyLeft destroys one object if there is anything of it; both results are
// nil when there is not.
func (o *object) destroyLeft(ctx context.Context) (*harness.Run, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.count()
	if err == nil && n == 0 || o.inputs == nil {
		return nil, err
	}
	run, err := o.run(ctx, harness.OpDestroy, o.inputs, o.role.plainRoot(), func(ctx context.Context, w *runtime.Workdir) (*runtime.Result, error) {
		return w.Destroy(ctx, runtime.ApplyOptions{})
	})
	if err != nil {
		return nil, err
	}
	if run.Failed {
		return run, fmt.Errorf("destroying %s: %s", o.name, firstError(run.Diagnostics))
	}
	return run, nil
}

func firstError(list []harness.Diagnostic) string {
	for _, d := range list {
		text := d.Summary
		if d.Detail != "" {
			text += ": " + d.Detail
		}
		if d.Range != "" {
			text = d.Range + ": " + text
		}
		return text
	}
	return "it failed without saying why"
}
