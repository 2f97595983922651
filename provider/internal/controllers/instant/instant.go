// Package instant is test support: it ends the Jobs of the provider at once, as their pods would after a run of the no-op
// modules, without a pod, a runner or a runtime. The API server, and what the provider writes to it, are real.
//
// It is for tests and benchmarks of what the controllers do around a Job: crashes between two writes, a thousand machines.
// What a run itself does is tested with the pod runner of provider/testenv and real images.
package instant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/result"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// Digest is the digest that every image has.
const Digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// Kinds of failures that a runner cannot report.
const (
	// Deadline: the Job controller ended the Job.
	Deadline infrav1.RunErrorKind = "deadline"
	// Silent: the run left no result.
	Silent infrav1.RunErrorKind = "silent"
	// Garbled: what the run left is no result.
	Garbled infrav1.RunErrorKind = "garbled"
)

// Runner ends Jobs.
type Runner struct {
	// Client reads and writes without a cache.
	Client client.WithWatch
	// Health is what machines and clusters report; "" is running.
	Health func(kind, name string) string
	// Fail, if set, says how a Job fails; nil lets it succeed. The kinds above are
	// failures that no runner reports.
	Fail func(job *batchv1.Job) *result.Error
	// Change, if set, changes the outputs of a run; nil is a null output.
	Change func(kind, name string, outputs map[string]any)
	// Drift, if set, is what drift checks find.
	Drift func(name string) *result.Drift
	// KeepSuspended leaves Jobs that are suspended with their pods, until a test calls Suspend.
	KeepSuspended bool
	// NoDigest leaves out which digest a node has pulled.
	NoDigest bool
	// Clock is that of the controllers.
	Clock clock.PassiveClock

	mu sync.Mutex
	// applies counts the applies that were run, by object and inputs hash.
	applies map[string]int
	ran     int
	held    map[infrav1.Operation]chan struct{}
	// runs are the Jobs that run or have run: a Job has one pod, however often it changes.
	runs map[types.UID]context.CancelFunc
}

// Applies returns how often each object's inputs were applied, by "<kind>/<name> <hash>".
func (r *Runner) Applies() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]int{}
	maps.Copy(out, r.applies)
	return out
}

// HoldOperation keeps Jobs of an operation running until the returned function is called.
func (r *Runner) HoldOperation(op infrav1.Operation) (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held = map[infrav1.Operation]chan struct{}{}
	}
	until := make(chan struct{})
	r.held[op] = until
	return func() { close(until) }
}

// LetGo holds no operation any more that is not held yet.
func (r *Runner) LetGo() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = nil
}

// Jobs is how many Jobs were ended.
func (r *Runner) Jobs() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ran
}

// Run ends Jobs of a namespace, or of all for "", until the context ends.
func (r *Runner) Run(ctx context.Context, namespace string) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	limit := make(chan struct{}, 16)
	for ctx.Err() == nil {
		w, err := r.Client.Watch(ctx, &batchv1.JobList{}, client.InNamespace(namespace))
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("watching jobs: %w", err)
		}
		for e := range w.ResultChan() {
			job, ok := e.Object.(*batchv1.Job)
			if !ok || e.Type == watch.Deleted || finished(job) || job.Labels[infrav1.LabelManaged] != "true" {
				continue
			}
			work := r.next(ctx, job)
			if work == nil {
				continue
			}
			wg.Add(1)
			limit <- struct{}{}
			go func() {
				defer func() { <-limit; wg.Done() }()
				work()
			}()
		}
	}
	return nil
}

// next is what is to be done about a Job that is there or has changed, nil for nothing.
func (r *Runner) next(ctx context.Context, job *batchv1.Job) func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[types.UID]context.CancelFunc{}
	}
	stop, runs := r.runs[job.UID]
	switch suspended := job.Spec.Suspend != nil && *job.Spec.Suspend; {
	case suspended && r.KeepSuspended, !suspended && runs:
		return nil
	case suspended:
		if runs {
			stop()
			delete(r.runs, job.UID) // it may be let go on
		}
		return func() { r.persist(ctx, job, r.Suspend) }
	}
	run, cancel := context.WithCancel(ctx)
	r.runs[job.UID] = cancel
	return func() { r.persist(run, job, r.End) }
}

// persist does something about a Job until it is done or the Job is gone: others write the same objects.
func (r *Runner) persist(ctx context.Context, job *batchv1.Job, do func(context.Context, *batchv1.Job) error) {
	for ctx.Err() == nil && do(ctx, job) != nil {
		live := &batchv1.Job{}
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(job), live)
		if apierrors.IsNotFound(err) || err == nil && live.UID != job.UID {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func finished(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// Suspend removes the pods of a Job that is to be suspended, and says that it is, as the Job controller would.
func (r *Runner) Suspend(ctx context.Context, job *batchv1.Job) error {
	if err := r.Client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(job.Namespace),
		client.MatchingLabels{batchv1.JobNameLabel: job.Name}, client.GracePeriodSeconds(0)); err != nil {
		return err
	}
	return r.status(ctx, job, func(s *batchv1.JobStatus, now metav1.Time) {
		s.Conditions = []batchv1.JobCondition{{
			Type: batchv1.JobSuspended, Status: corev1.ConditionTrue, Reason: "JobSuspended", LastTransitionTime: now, LastProbeTime: now,
		}}
	})
}

// status changes the status of a Job, whatever else is changed in it meanwhile.
func (r *Runner) status(ctx context.Context, job *batchv1.Job, change func(*batchv1.JobStatus, metav1.Time)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live := &batchv1.Job{}
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(job), live); err != nil {
			return client.IgnoreNotFound(err)
		}
		change(&live.Status, metav1.NewTime(r.Clock.Now()))
		return r.Client.Status().Update(ctx, live)
	})
}

// End ends one Job: it waits for its inputs, writes the state that a run would leave, a pod that has ended, and the Job's end.
func (r *Runner) End(ctx context.Context, job *batchv1.Job) error {
	run, err := r.inputs(ctx, job)
	if err != nil {
		return err
	}
	op := infrav1.Operation(job.Labels[infrav1.LabelOperation])
	r.mu.Lock()
	until := r.held[op]
	r.mu.Unlock()
	if until != nil {
		select {
		case <-until:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	doc := &result.Document{Version: result.Version, Op: op, Runtime: result.Runtime{Command: "tofu", Version: "1.12.6"}}
	doc.Steps = []result.Step{{Name: "init", Seconds: 0.1}, {Name: string(op), Seconds: 0.1}}
	if r.Fail != nil {
		doc.Error = r.Fail(job)
	}
	if doc.Error == nil {
		if err := r.write(ctx, job, op, run); err != nil {
			return err
		}
	}
	if op == infrav1.OperationDrift {
		doc.Drift = &result.Drift{}
		if r.Drift != nil {
			doc.Drift = r.Drift(metav1.GetControllerOf(job).Name)
		}
	}
	if err := r.pod(ctx, job, doc); err != nil {
		return err
	}
	r.mu.Lock()
	r.ran++
	r.mu.Unlock()
	return r.finish(ctx, job, doc.Error)
}

// inputs waits for the per-run Secret, as a pod waits for its volume.
func (r *Runner) inputs(ctx context.Context, job *batchv1.Job) (map[string]json.RawMessage, error) {
	secret := &corev1.Secret{}
	for {
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: names.RunSecret(job.Name)}, secret)
		if err == nil {
			break
		}
		if !apierrors.IsNotFound(err) {
			return nil, err
		}
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(job), &batchv1.Job{}); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	values := map[string]json.RawMessage{}
	return values, json.Unmarshal(secret.Data["terraform.tfvars.json"], &values)
}

// write writes the state that the operation leaves.
func (r *Runner) write(ctx context.Context, job *batchv1.Job, op infrav1.Operation, values map[string]json.RawMessage) error {
	kind := job.Labels[infrav1.LabelOwnerKind]
	role, name := roleOf(kind), metav1.GetControllerOf(job).Name
	key := state.KeyFor(role, job.Namespace, name)
	key.Labels = names.StateLabels(role, name, job.Labels[infrav1.LabelCluster])
	store := &state.Store{Writer: r.Client, Live: r.Client, Clock: r.Clock}
	serial, lineage := uint64(0), "lineage-"+key.Suffix
	before, err := store.Read(ctx, key)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return err
	}
	if before != nil {
		serial, lineage = before.Serial, before.Lineage
	}
	if (op == infrav1.OperationRefresh || op == infrav1.OperationDrift) && r.Health == nil && r.Change == nil {
		return nil
	}
	outputs, resources := r.outputs(role, name, job.Namespace, values), []any{map[string]any{
		"mode": "managed", "type": "terraform_data", "name": "x", "provider": `provider["terraform.io/builtin/terraform"]`,
		"instances": []any{map[string]any{"schema_version": 0, "attributes": map[string]any{"id": "x"}}},
	}}
	if op == infrav1.OperationDestroy {
		outputs, resources = map[string]any{}, []any{}
	}
	raw, err := json.Marshal(map[string]any{
		"version": 4, "terraform_version": "1.12.6", "serial": serial + 1, "lineage": lineage, "outputs": outputs, "resources": resources,
	})
	if err != nil {
		return err
	}
	if _, err := store.Write(ctx, key, raw, state.WriteOptions{Backups: 5, Job: job.Name, Apply: op == infrav1.OperationApply}); err != nil {
		return err
	}
	if op == infrav1.OperationApply {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.applies == nil {
			r.applies = map[string]int{}
		}
		r.applies[kind+"/"+name+" "+job.Annotations[infrav1.AnnotationInputsHash]]++
	}
	return nil
}

func roleOf(kind string) contract.Role {
	for _, role := range contract.Roles() {
		if role.Kind() == kind {
			return role
		}
	}
	return ""
}

// outputs are what the no-op modules put out, as a state holds them.
func (r *Runner) outputs(role contract.Role, name, namespace string, values map[string]json.RawMessage) map[string]any {
	health := "running"
	if r.Health != nil {
		if h := r.Health(role.Kind(), name); h != "" {
			health = h
		}
	}
	text := func(key string) any {
		var v any
		_ = json.Unmarshal(values[key], &v)
		return v
	}
	out := map[string]any{"health": map[string]any{"state": health, "healthy": health == "running", "message": "instant", "reasons": []any{}}}
	switch role {
	case contract.RoleCluster:
		out["control_plane_endpoint"] = map[string]any{"host": name + ".example.test", "port": 6443}
		out["failure_domains"] = []any{
			map[string]any{"name": "a", "control_plane": true, "attributes": map[string]any{}},
			map[string]any{"name": "b", "control_plane": true, "attributes": map[string]any{}},
		}
		out["exports"] = map[string]any{"schema": "captf.io/noop-cluster/v1", "backend_id": "backend-" + name}
	case contract.RoleMachine:
		out["provider_id"] = "noop:///" + namespace + "/" + name
		out["addresses"] = []any{map[string]any{"type": "InternalIP", "address": "10.0.0.1"}}
		out["failure_domain"] = text("failure_domain")
		out["interruptible"] = false
	case contract.RoleMachinePool:
		n, _ := text("replicas").(float64)
		ids := []any{}
		for i := range int(n) {
			ids = append(ids, fmt.Sprintf("noop:///%s/%s/%02d", namespace, name, i))
		}
		out["provider_id"] = "noop-group:///" + name
		out["provider_id_list"] = ids
		out["replicas"] = n
		out["instances"] = []any{}
	}
	if r.Change != nil {
		r.Change(role.Kind(), name, out)
	}
	state := map[string]any{}
	for k, v := range out {
		if v == nil {
			continue
		}
		state[k] = map[string]any{"value": v, "type": "dynamic", "sensitive": true}
	}
	return state
}

// pod writes a pod that has ended, with the result as the termination message of the module's container.
func (r *Runner) pod(ctx context.Context, job *batchv1.Job, doc *result.Document) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: job.Name + "-pod", Labels: map[string]string{batchv1.JobNameLabel: job.Name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: new(true),
			}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false),
			Containers: []corev1.Container{{Name: "source", Image: "x"}},
		},
	}
	if err := r.Client.Create(ctx, pod); err != nil {
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
	}
	now := metav1.NewTime(r.Clock.Now())
	code := int32(0)
	if doc.Error != nil {
		code = 1
	}
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	message, pulled := string(result.Encode(doc)), "registry.test/x@"+Digest
	switch {
	case doc.Error == nil:
	case doc.Error.Kind == Deadline || doc.Error.Kind == Silent:
		message = ""
	case doc.Error.Kind == Garbled:
		message = "Segmentation fault"
	}
	if r.NoDigest {
		pulled = ""
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "source", Image: "x", ImageID: pulled,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Message: message, StartedAt: now, FinishedAt: now,
		}},
	}}
	return r.Client.Status().Update(ctx, pod)
}

// Expire ends a Job as the Job controller does at its deadline: its pods are gone.
func (r *Runner) Expire(ctx context.Context, job *batchv1.Job) error {
	if err := r.Client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(job.Namespace),
		client.MatchingLabels{batchv1.JobNameLabel: job.Name}, client.GracePeriodSeconds(0)); err != nil {
		return err
	}
	return r.finish(ctx, job, &result.Error{Kind: Deadline})
}

// finish writes the end of the Job, as the Job controller would.
func (r *Runner) finish(ctx context.Context, job *batchv1.Job, failure *result.Error) error {
	return r.status(ctx, job, func(s *batchv1.JobStatus, now metav1.Time) {
		s.StartTime = &now
		if failure == nil {
			s.Succeeded = 1
			s.CompletionTime = &now
			s.Conditions = []batchv1.JobCondition{
				{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now, LastProbeTime: now},
				{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now, LastProbeTime: now},
			}
			return
		}
		s.Failed = 1
		reason := batchv1.JobReasonBackoffLimitExceeded
		if failure.Kind == Deadline {
			reason = batchv1.JobReasonDeadlineExceeded
		}
		s.Conditions = []batchv1.JobCondition{
			{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: now, LastProbeTime: now},
			{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: now, LastProbeTime: now},
		}
	})
}
