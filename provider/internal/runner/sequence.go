package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-version"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/plan"
	"github.com/captf-toolkit/captf/provider/internal/record"
	"github.com/captf-toolkit/captf/provider/internal/result"
)

// planFile is where a plan is saved, in the root directory. It holds secrets.
const planFile = "captf.tfplan"

// action is a part of an operation.
type action func(*run) error

// sequences are the operations (image.md 9, B-590..B-597).
var sequences = map[infrav1.Operation][]action{
	infrav1.OperationApply:   {initialise, forceUnlock, validate, apply},
	infrav1.OperationPlan:    {initialise, forceUnlock, validate, planChange, show, reportPlan},
	infrav1.OperationDestroy: {initialise, forceUnlock, destroy},
	infrav1.OperationRefresh: {initialise, forceUnlock, refresh},
	infrav1.OperationDrift:   {initialise, forceUnlock, refresh, planDrift, showDrift},
}

// guarded is an apply whose plan is judged first.
var guarded = []action{initialise, forceUnlock, validate, planChange, show, guard, applySaved}

func sequence(o Options) []action {
	if o.Op == infrav1.OperationApply && o.planned() {
		return guarded
	}
	return sequences[o.Op]
}

// Flags of whole families of commands (image.md 9).
func (r *run) inputFlags() []string {
	return []string{"-input=false", "-no-color", "-lock-timeout=" + r.lockTimeout()}
}

func (r *run) lockTimeout() string {
	return strconv.FormatInt(int64(r.o.LockTimeout/time.Second), 10) + "s"
}

const varFile = "-var-file=" + record.KeyValues

// stream is a step whose output is a JSON stream.
func (r *run) stream(name, verb string, args ...string) step {
	return step{name: name, args: append(append([]string{verb, "-json"}, r.inputFlags()...), args...), form: stream}
}

// simple runs a step of which nothing but success is needed.
func (r *run) simple(s step) error {
	_, err := r.perform(r.ctx, s)
	return err
}

// initJSON is the first version whose init has a JSON stream, in both runtimes.
var initJSON = version.Must(version.NewVersion("1.9.0"))

func initialise(r *run) error {
	digest := r.initDigest()
	if r.initialised(digest) {
		r.log.say("init is not needed: it was done for the same configuration, lock file and mirror")
		return nil
	}
	s := step{name: stepInit, args: append([]string{"init"}, r.inputFlags()...), form: text}
	if v, err := version.NewVersion(r.doc.Runtime.Version); err == nil && v.Core().GreaterThanOrEqual(initJSON) {
		s.args, s.form = append(s.args, "-json"), stream
	}
	for _, c := range r.o.BackendConfig {
		s.args = append(s.args, "-backend-config="+c)
	}
	if err := r.simple(s); err != nil {
		return err
	}
	r.rememberInit()
	return nil
}

// alreadyFree are answers to a force-unlock that mean that there is nothing to be done: the lock is free, or another run
// holds it (B-435).
var alreadyFree = regexp.MustCompile(`(?i)not locked|already unlocked|no lock|lock id .* does not match|does not match existing lock`)

func forceUnlock(r *run) error {
	if r.o.ForceUnlock == "" {
		return nil
	}
	s := step{name: stepForceUnlock, args: []string{"force-unlock", "-force", "-no-color", r.o.ForceUnlock}, form: text}
	if r.session != nil {
		s.env = []string{r.session.unlockAddress(r.o.ForceUnlock)}
	}
	o, err := r.perform(r.ctx, s)
	if err != nil && o.exit != 0 && o.startErr == nil && o.signal == "" && alreadyFree.MatchString(o.tail) {
		r.doc.Steps[len(r.doc.Steps)-1].Exit = 0
		r.log.say("the lock was free already")
		return nil
	}
	return err
}

func validate(r *run) error {
	return r.simple(step{name: stepValidate, args: []string{"validate", "-json", "-no-color"}, form: report})
}

func apply(r *run) error {
	return r.simple(r.stream(stepApply, "apply", "-auto-approve", varFile))
}

func destroy(r *run) error {
	return r.simple(r.stream(stepDestroy, "destroy", "-auto-approve", varFile))
}

func refresh(r *run) error {
	return r.simple(r.stream(stepRefresh, "apply", "-refresh-only", "-auto-approve", varFile))
}

func planChange(r *run) error { return r.plan() }

// planDrift trusts the state: it was refreshed by the step before.
func planDrift(r *run) error { return r.plan("-refresh=false") }

func (r *run) plan(args ...string) error {
	s := r.stream(stepPlan, "plan", append(args, "-detailed-exitcode", varFile, "-out="+planFile)...)
	s.changedCode = 2
	o, err := r.perform(r.ctx, s)
	r.changed = o.changed
	return err
}

// show reads the plan that was saved and lets it be judged.
func show(r *run) error {
	if !r.changed {
		r.judged = &plan.Report{Empty: true, Plan: result.Plan{Hash: plan.EmptyHash}}
		return nil
	}
	doc, err := r.savedPlan()
	if err != nil {
		return err
	}
	report, err := r.judge(doc)
	if err != nil {
		return r.problem(stepShow, fmt.Errorf("judging the plan: %w", err))
	}
	r.judged = report
	p := report.Plan
	r.tell(normal, "PlanSummary", "%d to create, %d to update, %d to replace, %d to delete, %d outputs to change",
		p.Create, p.Update, p.Replace, p.Delete, p.OutputChanges)
	r.log.say("the plan is %s", p.Hash)
	for _, line := range p.Resources {
		r.log.say("  %s", line)
	}
	return nil
}

// savedPlan is the saved plan in its JSON form. It is never logged.
func (r *run) savedPlan() ([]byte, error) {
	o, err := r.perform(r.ctx, step{name: stepShow, args: []string{"show", "-json", "-no-color", planFile}, form: document})
	if err != nil {
		return nil, err
	}
	r.secrets.addPlan(o.document)
	return o.document, nil
}

func showDrift(r *run) error {
	if !r.changed {
		r.doc.Drift = &result.Drift{}
		return nil
	}
	doc, err := r.savedPlan()
	if err != nil {
		return err
	}
	d, err := plan.DriftOf(doc)
	if err != nil {
		return r.problem(stepShow, err)
	}
	r.doc.Drift = d
	r.tell(normal, "PlanSummary", "drift: %d to create, %d to update, %d to replace, %d to delete", d.Create, d.Update, d.Replace, d.Delete)
	return nil
}

func reportPlan(r *run) error {
	r.doc.Plan = &r.judged.Plan
	return nil
}

// guard decides whether the judged plan may be applied (B-602..B-604). A plan that was approved by its own fingerprint may
// delete.
func guard(r *run) error {
	if !r.changed {
		return nil
	}
	switch p := r.judged; {
	case r.o.ExpectPlan != "" && r.o.ExpectPlan != p.Hash:
		r.doc.Plan = &p.Plan
		return fail(infrav1.RunErrorPlanChanged, "", "the plan is another than the one that was approved; nothing was applied")
	case r.o.ExpectPlan != "" || !r.o.GuardDeletes || !p.Destructive:
		return nil
	case r.o.AllowDeletesHash != "" && r.o.AllowDeletesHash == r.o.InputsHash:
		r.log.say("the plan deletes or replaces something, which was approved for these inputs")
		return nil
	default:
		r.doc.Plan = &p.Plan
		return fail(infrav1.RunErrorBlocked, "", "the plan deletes %d and replaces %d resources; nothing was applied", p.Delete, p.Replace)
	}
}

// applySaved applies the very plan that was judged (B-605). A plan of nothing is not applied (B-598).
func applySaved(r *run) error {
	if !r.changed {
		r.log.say("there is nothing to apply")
		return nil
	}
	return r.simple(r.stream(stepApply, "apply", planFile))
}

// needsKey fails a run without a broker that needs a plan key and has none (B-384), before anything is run. With a broker
// the key is there.
func (r *run) needsKey() error {
	if r.session != nil || r.o.Local || r.o.Op != infrav1.OperationPlan && !r.o.planned() {
		return nil
	}
	_, err := r.key()
	return err
}

func (r *run) key() ([]byte, error) {
	key, err := readFile(r.o.PlanKeyFile, 1<<10)
	switch {
	case err != nil && r.o.Local:
		// The fingerprint of a local run is compared with nothing.
		return make([]byte, plan.KeySize), nil
	case err != nil:
		return nil, fmt.Errorf("reading the plan key: %w", err)
	case len(key) < plan.KeySize:
		return nil, fmt.Errorf("reading the plan key: %s has %d bytes, fewer than %d", r.o.PlanKeyFile, len(key), plan.KeySize)
	}
	return key, nil
}

func (r *run) judge(planJSON []byte) (*plan.Report, error) {
	if r.session != nil {
		return r.session.judge(r.ctx, planJSON)
	}
	key, err := r.key()
	if err != nil {
		return nil, err
	}
	return plan.Judge(key, planJSON)
}

// rescue brings a state to the broker that the runtime could not, and frees a lock that it could not free (recipes of the
// http backend: it then leaves the state in a file and ends).
func (r *run) rescue(o *outcome, since time.Time) {
	if r.session == nil || !strings.HasPrefix(o.step, stepApply) && o.step != stepDestroy && o.signal == "" {
		return
	}
	state := filepath.Join(r.work.root, erroredState)
	if len(o.state) > 0 {
		if err := writeSecret(state, o.state); err != nil {
			r.log.say("keeping the state that the runtime printed: %v; what was created is not recorded", err)
		}
	}
	left := exists(state)
	if !left && o.signal == "" {
		return
	}
	// A stop must not keep the state from being stored, only bound how long it may take.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), max(r.o.StopTimeout, time.Minute))
	defer cancel()
	if err := r.session.release(ctx, hostname(), since); err != nil && !errors.Is(err, errNotOurs) {
		r.log.say("freeing the lock that was left: %v", err)
	}
	if !left {
		return
	}
	r.log.say("pushing the state that the runtime could not store")
	if _, err := r.perform(ctx, step{
		name: stepStatePush, args: []string{"state", "push", "-lock-timeout=" + r.lockTimeout(), erroredState}, form: text,
	}); err != nil {
		r.log.say("the state could not be pushed: what was created is not recorded in it")
		return
	}
	remove(state)
}
