package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/operation"
	"github.com/captf-toolkit/captf/provider/internal/record"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// stepMarks reads the marks of the object's records: from cached metadata, or live if this pass has just written them.
func (p *pass) stepMarks(ctx context.Context) (outcome, error) {
	for name, to := range map[string]**record.Record{p.owner().AttemptName(): &p.attempt, p.owner().AppliedName(): &p.applied} {
		if len(p.finished) > 0 {
			r, err := p.Records.Get(ctx, p.obj.GetNamespace(), name)
			if err != nil {
				return outcome{}, err
			}
			*to = r
			continue
		}
		meta, err := p.secretMeta(ctx, name)
		if err != nil {
			return outcome{}, err
		}
		*to = nil
		if meta != nil {
			marks := record.Marks(meta.Annotations)
			*to = &marks
		}
	}
	return outcome{}, nil
}

// stepState reads the state, if its Secrets changed since it was last read (B-032).
func (p *pass) stepState(ctx context.Context) (outcome, error) {
	if p.destroyed() {
		return outcome{}, nil // what is left of the state is about to be removed, and may be half of one (B-874)
	}
	known, err := p.States.read(ctx, p.key)
	if err != nil {
		return outcome{}, err
	}
	p.state = known.state
	var unreadable *state.Unreadable
	errors.As(known.err, &unreadable)
	if p.everApplied, err = p.appliedOnce(ctx); err != nil {
		return outcome{}, err
	}
	if err := p.confirmNothing(ctx, unreadable == nil); err != nil {
		return outcome{}, err
	}
	if err := p.judgeState(ctx, unreadable); err != nil {
		return outcome{}, err
	}
	if err := p.tendRecords(ctx); err != nil {
		return outcome{}, err
	}
	if p.state != nil {
		if err := p.tendState(ctx, known); err != nil {
			return outcome{}, err
		}
	}
	p.obj.WorkspaceStatus().StateSecretSuffix = p.key.Suffix
	gauges := metrics.Object(p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName())
	gauges.StateResources(deref(p.state).Resources)
	gauges.StateBytes(deref(p.state).Bytes)
	return outcome{}, nil
}

// confirmNothing takes in that a user has looked, and the apply whose outcome was not known created nothing (B-487). Another
// Job's name changes nothing.
func (p *pass) confirmNothing(ctx context.Context, readable bool) error {
	confirmed := p.obj.GetAnnotations()[infrav1.AnnotationConfirmNoResources]
	if confirmed == "" || p.state != nil || !readable || confirmed != deref(p.attempt).UnconfirmedApply {
		return nil
	}
	nothing := func(r *record.Record) { r.UnconfirmedApply, r.MayHaveApplied = "", false }
	if err := p.Records.Mark(ctx, p.owner(), false, nothing); err != nil {
		return err
	}
	nothing(p.attempt)
	annotations := p.obj.GetAnnotations()
	delete(annotations, infrav1.AnnotationConfirmNoResources)
	p.obj.SetAnnotations(annotations)
	return nil
}

// destroyed tells that a deleting object's infrastructure is gone.
func (p *pass) destroyed() bool {
	return !p.obj.GetDeletionTimestamp().IsZero() && operation.Destroyed(p.runs())
}

// tendRecords repairs the owner references of what is kept for the object beside its state.
func (p *pass) tendRecords(ctx context.Context) error {
	if !p.obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	owner, repaired := p.owner(), 0
	for _, name := range []string{owner.AttemptName(), owner.AppliedName(), names.PlanKeySecret(p.Role, p.obj.GetName())} {
		meta, err := p.secretMeta(ctx, name)
		if err != nil {
			return err
		}
		if meta == nil || ownedBy(*meta, p.obj) {
			continue
		}
		if err := p.Records.Own(ctx, owner, name); err != nil {
			return fmt.Errorf("repairing owner references: %w", err)
		}
		repaired++
	}
	if repaired > 0 {
		p.did("OwnerReferencesRepaired", "%d Secrets of the object are owned by it again", repaired)
	}
	return nil
}

func ownedBy(o metav1.PartialObjectMetadata, owner metav1.Object) bool {
	return slices.ContainsFunc(o.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
}

// tendState ends a write that was broken off, repairs owner references and takes a backup, once for each version that is
// read (B-414, B-450), and when a Secret of it has lost its owner, a backup's too. The state of an object that is being deleted
// is left as it is.
func (p *pass) tendState(ctx context.Context, known remembered) error {
	if !p.obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if done, ok := p.tended.Get(p.key.Suffix); ok && done == known.version {
		lost, err := p.States.unowned(ctx, p.key, p.obj)
		if err != nil || !lost {
			return err
		}
	}
	what := fmt.Sprintf("the state of %s %s/%s", p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName())
	if known.state.Interrupted {
		if _, err := p.States.Store.Repair(ctx, p.key); err != nil {
			return fmt.Errorf("ending a broken off write of %s: %w", what, err)
		}
	}
	repaired, err := p.States.Store.RepairOwners(ctx, p.key, p.ownerReference())
	if err != nil {
		return fmt.Errorf("repairing owner references of %s: %w", what, err)
	}
	if repaired > 0 {
		p.did("OwnerReferencesRepaired", "%d Secrets of the state are owned by this object again", repaired)
	}
	if err := p.backup(ctx); err != nil {
		return fmt.Errorf("keeping backups of %s: %w", what, err)
	}
	p.tended.Add(p.key.Suffix, known.version)
	return nil
}

// backup keeps the version that was read, if it has no backup yet, and lists the backups in the status.
func (p *pass) backup(ctx context.Context) error {
	status := p.obj.WorkspaceStatus()
	if p.Options.StateBackups > 0 {
		owner := p.ownerReference()
		taken, err := p.States.Store.Backup(ctx, p.keyWithLabels(), state.BackupOptions{Job: deref(status.LastRun).Job, Owner: &owner})
		if err != nil {
			metrics.Backup(p.Role.Kind(), metrics.BackupSkipped)
			return err
		}
		if taken {
			metrics.Backup(p.Role.Kind(), metrics.BackupTaken)
			p.did("StateBackedUp", "a backup of serial %d of the state was taken", p.state.Serial)
		}
		if err := p.States.Store.Prune(ctx, p.key, p.Options.StateBackups); err != nil {
			return err
		}
	}
	backups, err := p.States.Store.Backups(ctx, p.key)
	if err != nil {
		return err
	}
	listed := status.StateBackups
	status.StateBackups = nil
	for _, b := range backups {
		if b.Complete && b.Bytes > 0 && len(status.StateBackups) < 16 {
			status.StateBackups = append(status.StateBackups, infrav1.StateBackup{
				Serial: serial(b.Serial), TakenAt: metav1.NewTime(b.TakenAt), Bytes: b.Bytes,
			})
		}
	}
	// The broker removes the oldest one when it takes one; its metrics are seen by nobody.
	for _, old := range listed {
		if !slices.ContainsFunc(status.StateBackups, func(b infrav1.StateBackup) bool { return b.Serial == old.Serial }) {
			metrics.Backup(p.Role.Kind(), metrics.BackupPruned)
		}
	}
	return nil
}

// serial is a serial as the API has it. No state counts so far that it does not fit.
func serial(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// appliedOnce tells that an apply ever succeeded (B-480).
func (p *pass) appliedOnce(ctx context.Context) (bool, error) {
	if provisioned(p.obj) || p.applied != nil || deref(p.attempt).Applied {
		return true, nil
	}
	if p.state != nil {
		return p.state.InputsHash != "", nil
	}
	backups, err := p.States.backups(ctx, p.key)
	return len(backups) > 0, err
}

// judgeState sets StateReadable, and held if no Job may run (provider-behaviour.md 17, 20).
func (p *pass) judgeState(ctx context.Context, unreadable *state.Unreadable) error {
	p.held = nil
	f := p.stateFacts(unreadable)
	reason := operation.StateReason(f)
	var message string
	switch reason {
	case infrav1.StateReadReason:
		p.set(infrav1.StateReadableCondition, conditions.True(reason, ""))
		return nil
	case infrav1.StateNotFoundReason:
		p.set(infrav1.StateReadableCondition, conditions.Unknown(reason, "there is no state yet"))
		return nil
	case infrav1.StateLostReason:
		var err error
		if message, err = p.explainLoss(ctx); err != nil {
			return err
		}
	case infrav1.ApplyOutcomeUnknownReason:
		message = fmt.Sprintf("there is no state, and Job %s ended without telling whether it created anything, so nothing is run:"+
			" look into the cloud whether it created something; if it did, put the state back from a copy, and if it did not, say so:"+
			" kubectl annotate -n %s %s %s %s=%s --overwrite",
			f.Unconfirmed, p.obj.GetNamespace(), p.resource(), p.obj.GetName(), infrav1.AnnotationConfirmNoResources, f.Unconfirmed)
		if said := p.obj.GetAnnotations()[infrav1.AnnotationConfirmNoResources]; said != "" {
			message += fmt.Sprintf("; the annotation is there with the value %q, which is not that Job and counts for nothing", said)
		}
	default:
		message = unreadable.Message
	}
	v := conditions.Value{Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if !conditions.HasReason(p.before, infrav1.StateReadableCondition, reason) {
		metrics.StateUnreadable(p.Role.Kind(), reason)
	}
	p.held = &v
	p.set(infrav1.StateReadableCondition, v)
	return nil
}

// resource is the object's kind as kubectl takes it.
func (p *pass) resource() string { return strings.ToLower(p.Role.Kind()) }

// explainLoss says what is missing of a state, and what there is to put it back from (B-485).
func (p *pass) explainLoss(ctx context.Context) (string, error) {
	if p.state != nil {
		return fmt.Sprintf("the infrastructure was made, but annotation %s is missing on Secret %s, so it is not known that the state is that of a successful"+
			" apply, and nothing is run: if it is, say so: kubectl annotate -n %s secret %s %s=%s",
			infrav1.AnnotationInputsHash, p.key.Secret(0), p.obj.GetNamespace(), p.key.Secret(0), infrav1.AnnotationInputsHash,
			cmp.Or(deref(p.applied).InputsHash, "HASH")), nil
	}
	if going, err := p.namespaceGoes(ctx); err != nil {
		return "", err
	} else if going {
		return fmt.Sprintf("the object was applied before and its state is gone, as everything in namespace %s, which is being deleted: nothing can be"+
			" put back there and no Job can start. Destroy from elsewhere what the object made, with a copy of the state (suffix %s) if there is one and"+
			" in the cloud if not, then let it go: kubectl patch -n %s %s %s --type merge -p '{\"metadata\":{\"finalizers\":null}}'",
			p.obj.GetNamespace(), p.key.Suffix, p.obj.GetNamespace(), p.resource(), p.obj.GetName()), nil
	}
	backups, err := p.States.backups(ctx, p.key)
	if err != nil {
		return "", err
	}
	const most = 5
	var named []string
	for _, b := range backups {
		if b.Complete && len(named) < most {
			named = append(named, fmt.Sprintf("%s (serial %d)", b.Set, b.Serial))
		}
	}
	lost := "the object was applied before and its state is gone, so nothing is run: put the Secrets of the state back from a copy" +
		" (they are labelled tfstate=true; status.stateSecretSuffix ends their names)"
	if len(named) == 0 {
		return lost + "; no complete backup of the state exists in the namespace", nil
	}
	return fmt.Sprintf("%s, or store a backup with runner state push -n %s %s/%s FILE; the newest: %s",
		lost, p.obj.GetNamespace(), p.resource(), p.obj.GetName(), strings.Join(named, ", ")), nil
}

// namespaceGoes tells, live, whether the object's namespace is being deleted.
func (p *pass) namespaceGoes(ctx context.Context) (bool, error) {
	ns := &corev1.Namespace{}
	if err := p.Live.Get(ctx, client.ObjectKey{Name: p.obj.GetNamespace()}, ns); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading namespace %s: %w", p.obj.GetNamespace(), err)
	}
	return !ns.GetDeletionTimestamp().IsZero(), nil
}

// stateFacts are what is known of the state, for the choice.
func (p *pass) stateFacts(unreadable *state.Unreadable) operation.Facts {
	f := operation.Facts{
		Role: p.Role, EverApplied: p.everApplied, Provisioned: provisioned(p.obj), Unconfirmed: deref(p.attempt).UnconfirmedApply,
		State: operation.State{Kind: operation.StateNone},
	}
	switch {
	case unreadable != nil:
		f.State = operation.State{Kind: operation.StateHeld, Reason: unreadable.Reason}
	case p.state != nil:
		f.State = operation.State{Kind: operation.StateReadable, Hash: p.state.InputsHash, Image: p.state.Image}
	}
	return f
}
