package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/contract/versions"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/operation"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// stepInputs builds the current inputs. A machine that was applied keeps those it was applied with, and an object that is
// being deleted is destroyed with recorded ones (B-034, B-295).
func (p *pass) stepInputs(ctx context.Context) (outcome, error) {
	if !p.obj.GetDeletionTimestamp().IsZero() {
		return outcome{}, nil
	}
	if !p.mutable() && p.state != nil && p.state.InputsHash != "" {
		return outcome{conditions: []conditions.Condition{inputs.DependenciesReady(nil)}}, nil
	}
	return p.collect(ctx)
}

// collect builds the current inputs, or says what they wait for.
func (p *pass) collect(ctx context.Context) (outcome, error) {
	if tc, ok := p.obj.(*infrav1.TerraformCluster); ok && (p.state == nil || p.state.InputsHash == "") {
		if source := inputs.EndpointSourceToRecord(tc, p.owners.Cluster); source != "" {
			setAnnotation(tc, contract.AnnotationEndpointSource, string(source)) // B-790
		}
	}
	recorded, err := p.recordedFiles(ctx)
	if err != nil {
		return outcome{}, err
	}
	schema, again := p.schema(ctx)
	result, err := p.Inputs.Build(ctx, inputs.Request{Object: p.obj, Owners: p.owners, Recorded: recorded, Schema: schema})
	if err != nil {
		return outcome{}, err
	}
	p.rendered = result.Rendered
	out := outcome{requeue: again, conditions: []conditions.Condition{inputs.DependenciesReady(result.Gate)}}
	if result.PoolSize != nil {
		out.conditions = append(out.conditions, inputs.AutoscalingActive(*result.PoolSize))
	}
	if result.Bytes > 0 {
		metrics.Object(p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName()).InputsBytes(result.Bytes)
	}
	if g := result.Gate; g != nil {
		p.gate = g.Type
		out.requeue = operation.GateRequeue
		if g.Type != infrav1.DependenciesReadyCondition {
			out.requeue = operation.RetryMax
			out.conditions = append(out.conditions, conditions.Condition{Type: g.Type, Value: g.Value})
		}
	}
	return out, nil
}

// recordedFiles are those of the newest attempt, which latch whether the control plane is initialized (B-277). They are
// read only while the Cluster does not say so itself.
func (p *pass) recordedFiles(ctx context.Context) (inputs.Files, error) {
	if p.Role != contract.RoleCluster || p.owners.Cluster == nil || deref(p.owners.Cluster.Status.Initialization.ControlPlaneInitialized) {
		return inputs.Files{}, nil
	}
	meta, err := p.secretMeta(ctx, p.owner().AttemptName())
	if err != nil || meta == nil {
		return inputs.Files{}, err
	}
	version := string(meta.UID) + "/" + meta.ResourceVersion
	if known, ok := p.files.Get(version); ok {
		return known.(inputs.Files), nil
	}
	attempt, err := p.Records.Get(ctx, p.obj.GetNamespace(), p.owner().AttemptName())
	if err != nil || attempt == nil {
		return inputs.Files{}, err
	}
	f := inputs.Files{Root: attempt.Root, Values: attempt.Values}
	p.files.Add(version, f)
	return f, nil
}

// Exports reads what a cluster publishes from its state (inputs.ClusterOutputs).
type Exports struct {
	// States are those that the reconciler of clusters remembers.
	States *States
}

// Exports returns the exports and the names of the failure domains of a cluster.
func (e Exports) Exports(ctx context.Context, cluster *infrav1.TerraformCluster) (json.RawMessage, []string, error) {
	key := state.KeyFor(contract.RoleCluster, cluster.Namespace, cluster.Name)
	known, err := e.States.Read(ctx, key)
	var unreadable *state.Unreadable
	switch {
	case errors.As(err, &unreadable):
		return nil, nil, fmt.Errorf("its state cannot be read (%s)", unreadable.Reason)
	case errors.Is(err, state.ErrNotFound):
		return nil, nil, errors.New("it has no state yet")
	case err != nil:
		return nil, nil, fmt.Errorf("its state cannot be read: %w", err)
	}
	values := contract.Values{Outputs: known.Values()}
	outputs, vs := versions.Default().DecodeCluster(values)
	names := make([]string, 0, len(outputs.FailureDomains))
	for _, d := range outputs.FailureDomains {
		names = append(names, d.Name)
	}
	if len(vs.Under("outputs.failure_domains").Blocking()) > 0 {
		names = names[:0] // the last valid ones, which the status keeps
		for _, d := range cluster.Status.FailureDomains {
			names = append(names, d.Name)
		}
	}
	// As they are: what makes exports unfit to be handed on is a gate of who would be given them (B-045).
	return values.Outputs["exports"], names, nil
}

// schema is the variables schema of the object's image, nil if the image has none or cannot be read: a run would meet the
// same image and fail with a better message. The second value is when to look again.
func (p *pass) schema(ctx context.Context) (*image.Schema, time.Duration) {
	if p.Inspector == nil {
		return nil, 0
	}
	s, _, err := p.Inspector.VariablesSchema(ctx, p.obj.GetNamespace(), p.settings().ImagePullSecrets, p.obj.Workspace().Source.Image)
	if err != nil {
		return nil, operation.RetryMax
	}
	return s, 0
}
