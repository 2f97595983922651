package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// ofRuns are the faults that break runs, those of the cloud among them. Whether one
// can be played without a simulated cloud is said by [Runner.Injects].
var ofRuns = map[harness.FaultKind]harness.Op{
	harness.FaultApplyFails: harness.OpApply, harness.FaultInterrupted: harness.OpApply, harness.FaultKilled: harness.OpApply,
	harness.FaultHangs: harness.OpApply, harness.FaultStateLost: harness.OpApply, harness.FaultRefreshBlind: harness.OpRefresh,
	harness.FaultQuota: harness.OpApply, harness.FaultConflict: harness.OpDestroy,
}

// Injects implements [harness.Injector].
func (r *Runner) Injects(kind harness.FaultKind) error {
	switch kind {
	case harness.FaultApplyFails, harness.FaultInterrupted, harness.FaultHangs:
		return nil
	case harness.FaultKilled, harness.FaultStateLost:
		if r.server != nil {
			return nil
		}
		for _, role := range r.set.Roles() {
			if !r.roles[role].builtin {
				return errors.New("it would leave things in the cloud that no state records; play it on a simulated cloud, with --simulate")
			}
		}
		return nil
	case harness.FaultRefreshBlind, harness.FaultQuota, harness.FaultConflict,
		harness.FaultInstanceGone, harness.FaultInstanceStopped, harness.FaultAddressChanges:
		if r.server == nil {
			return errors.New("only a simulated cloud can do that; play it with --simulate")
		}
		return nil
	}
	return fmt.Errorf("module runs and clouds do not play %s", kind)
}

// Inject implements [harness.Injector].
func (r *Runner) Inject(_ context.Context, f harness.Fault) error {
	if err := r.Injects(f.Kind); err != nil {
		return err
	}
	d := r.roles[f.Role]
	if d == nil {
		return fmt.Errorf("injecting %s: the set has no %s module", f.Kind, f.Role)
	}
	if _, ok := ofRuns[f.Kind]; !ok {
		return r.harm(f)
	}
	if f.Op == "" {
		f.Op = ofRuns[f.Kind]
	}
	f.Times, f.After = max(1, f.Times), max(1, f.After)
	r.mu.Lock()
	defer r.mu.Unlock()
	key := objectKey{f.Role, f.Object}
	r.pending[key] = append(r.pending[key], &f)
	return nil
}

// harm changes the instances that an object made.
func (r *Runner) harm(f harness.Fault) error {
	cloud := r.server.Cloud()
	owner := (&object{role: r.roles[f.Role], name: f.Object}).owner()
	harmed := 0
	for _, o := range cloud.Objects() {
		if o.Owner != owner || o.Kind != simcloud.KindInstance {
			continue
		}
		var err error
		switch f.Kind {
		case harness.FaultInstanceGone:
			cloud.Delete(o.Type, o.ID)
		case harness.FaultInstanceStopped:
			err = cloud.Stop(o.Type, o.ID)
		default:
			err = cloud.Readdress(o.Type, o.ID)
		}
		if err != nil {
			return fmt.Errorf("injecting %s: %w", f.Kind, err)
		}
		if harmed++; f.Role == contract.RoleMachinePool {
			break // one member of a pool
		}
	}
	if harmed == 0 {
		return fmt.Errorf("injecting %s: %s has made no instance in the simulated cloud", f.Kind, owner)
	}
	return nil
}

// due returns the fault that breaks the next run of an object, and counts it.
func (o *object) due(op harness.Op) *harness.Fault {
	r := o.role.r
	r.mu.Lock()
	defer r.mu.Unlock()
	key := objectKey{o.role.member.role, o.name}
	for i, f := range r.pending[key] {
		if f.Op != op {
			continue
		}
		due := *f
		if f.Times--; f.Times <= 0 {
			r.pending[key] = slices.Delete(r.pending[key], i, i+1)
		}
		return &due
	}
	return nil
}

// broken is a run that a fault breaks.
type broken struct {
	fault harness.Fault
	text  string
	// before is the state file before the run; nil if there was none.
	before []byte
	// hit is when it struck.
	hit time.Time
}

// faultTexts say what broke a run, in the words of what a controller would see.
var faultTexts = map[harness.FaultKind]string{
	harness.FaultInterrupted: "the run was interrupted, as by the eviction of its Pod",
	harness.FaultKilled:      "the run was killed, as by a Node that dies",
	harness.FaultHangs:       "the run did not end by itself, so the deadline of its Job ended it",
	harness.FaultStateLost:   "the state could not be stored",
}

// broken readies an object for a run that a fault breaks.
func (o *object) broken(f harness.Fault) (*broken, error) {
	b := &broken{fault: f, text: faultTexts[f.Kind]}
	raw, err := os.ReadFile(filepath.Join(o.dir, stateFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("injecting %s into %s: %w", f.Kind, o.name, err)
	}
	b.before = raw
	return b, nil
}

// forget puts the state back that was there before the run.
func (b *broken) forget(o *object) error {
	path := filepath.Join(o.dir, stateFile)
	err := os.WriteFile(path, b.before, 0o600)
	if b.before == nil {
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("injecting %s into %s: %w", b.fault.Kind, o.name, err)
	}
	return nil
}

// inCloud is the fault of the simulated cloud that breaks the run.
func (b *broken) inCloud(o *object) simcloud.Fault {
	f := simcloud.Fault{Owner: o.owner(), Nth: o.role.nth(b.fault)}
	switch b.fault.Kind {
	case harness.FaultApplyFails:
		f.Err = "the harness breaks this apply on purpose, after some resources exist"
	case harness.FaultQuota:
		f.Op, f.Refusal, f.Nth, f.Times = simcloud.OpCreate, simcloud.RefuseQuota, 1, -1
	case harness.FaultConflict:
		f.Shared, f.Refusal, f.Nth = true, simcloud.RefuseConflict, 1
	case harness.FaultRefreshBlind:
		f.Op, f.Blind, f.Nth, f.Times = simcloud.OpRead, true, 1, -1
	case harness.FaultInterrupted, harness.FaultKilled:
		f.Hang, f.Deaf = true, true
	case harness.FaultHangs:
		f.Hang = true
	}
	return f
}

// nth is the change that breaks: the first after as many as the fault wants, but one
// that there is.
func (d *roleDir) nth(f harness.Fault) int {
	return max(1, min(f.After+1, d.changes))
}

// changesOf is how many changes every apply of a module that makes it anew has at least.
func changesOf(view *module.Module) int {
	n := 0
	walkCalls(view, func(_ string, m *module.Module) {
		for _, r := range m.Resources {
			if r.Mode == module.Managed && r.Count == nil && r.ForEach == nil && r.Enabled == nil && r.Type != "terraform_data" {
				n++
			}
		}
	})
	return n
}

// simulated runs an operation with a fault of the simulated cloud. open opens the
// directory so that closing a channel kills the runtime.
func (b *broken) simulated(ctx context.Context, o *object, open func(kill <-chan struct{}) (*runtime.Workdir, error), do operation) (*runtime.Result, error) {
	kill := make(chan struct{})
	w, err := open(kill)
	if err != nil {
		return nil, err
	}
	if b.fault.Kind == harness.FaultStateLost {
		return do(ctx, w)
	}
	injected := o.role.r.server.Cloud().AddFault(b.inCloud(o))
	defer injected.Remove()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ended:
			return
		case <-injected.Hit():
		}
		b.hit = time.Now()
		switch b.fault.Kind {
		case harness.FaultKilled:
			close(kill)
		case harness.FaultInterrupted, harness.FaultHangs:
			cancel(errors.New(b.text))
		}
	}()
	res, err := do(ctx, w)
	close(ended)
	<-watched
	if injected.Hits() > 0 {
		<-injected.Done() // what was being made when the runtime was killed exists only then
	}
	return res, err
}

// plain runs an operation so that it ends as with the fault, without a cloud that could be
// told to break it: only part of the work is done, and none of it is recorded if the
// fault is one that loses it.
func (b *broken) plain(ctx context.Context, o *object, in contract.Inputs, op harness.Op, rt root, do operation) (*harness.Run, error) {
	d := o.role
	switch {
	case b.fault.Kind == harness.FaultStateLost || op != harness.OpApply && op != harness.OpDestroy:
	case op == harness.OpApply && d.fault.ok:
		d.fault.once.Do(func() { d.fault.err = d.makeFault(ctx) })
		if err := d.fault.err; err != nil && !errors.Is(err, errNoCopy) {
			return nil, err
		} else if err == nil {
			rt = d.fault.root
			do = func(ctx context.Context, w *runtime.Workdir) (*runtime.Result, error) {
				return w.Apply(ctx, runtime.ApplyOptions{Targets: d.fault.targets()})
			}
		}
	case op == harness.OpDestroy:
		target, err := o.leaf()
		if err != nil {
			return nil, err
		}
		if target != "" {
			do = func(ctx context.Context, w *runtime.Workdir) (*runtime.Result, error) {
				return w.Destroy(ctx, runtime.ApplyOptions{Targets: []string{target}})
			}
		}
	}
	run, err := o.runPlain(ctx, op, in, rt, do)
	if err != nil {
		return nil, err
	}
	return b.ended(o, run)
}

// leaf is a resource of the object's state that no other depends on, "" if there is none.
func (o *object) leaf() (string, error) {
	raw, err := os.ReadFile(filepath.Join(o.dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var state *runtime.State
	if err == nil {
		state, err = runtime.DecodeState(raw)
	}
	if err != nil {
		return "", fmt.Errorf("looking for what %s made last: %w", o.name, err)
	}
	last := ""
	for _, res := range state.Resources {
		if res.Managed {
			last = max(last, res.Address)
		}
	}
	return last, nil
}

// ended makes a run one that the fault has broken.
func (b *broken) ended(o *object, run *harness.Run) (*harness.Run, error) {
	// What a runtime recorded before it was really killed stays.
	lost := b.fault.Kind == harness.FaultStateLost || b.fault.Kind == harness.FaultKilled && o.role.r.server == nil
	switch {
	case lost:
		if err := b.forget(o); err != nil {
			return nil, err
		}
		if err := o.reread(run); err != nil {
			return nil, err
		}
	case b.fault.Kind == harness.FaultHangs && run.Hung == nil:
		run.Hung = []string{}
	}
	if b.text != "" {
		run.Failed = true
		run.Diagnostics = slices.Insert(run.Diagnostics, 0, harness.Diagnostic{Severity: string(runtime.SeverityError), Summary: b.text})
	}
	return run, nil
}

// reread makes a run's values those that the object's state has now.
func (o *object) reread(run *harness.Run) error {
	raw, err := os.ReadFile(filepath.Join(o.dir, stateFile))
	state := &runtime.State{Outputs: map[string]runtime.Output{}}
	if err == nil {
		state, err = runtime.DecodeState(raw)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		run.Values = contract.Values{Outputs: maps.Clone(state.Values()), Declared: o.role.declared}
		run.Resources, err = resources(state)
	}
	if err != nil {
		return fmt.Errorf("reading what is left of %s: %w", o.name, err)
	}
	return nil
}
