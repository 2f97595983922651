package template

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
	"github.com/captf-toolkit/captf/provider/internal/inspect"
)

// variables decides VariablesValid (provider-status.md 2.17). Nothing but metadata is read if nothing changed since it was
// decided for good.
func (p *pass) variables(ctx context.Context) error {
	sources, err := p.fingerprint(ctx)
	if err != nil {
		return err
	}
	now := conditions.Get(p.template, infrav1.VariablesValidCondition)
	settled := now != nil && now.ObservedGeneration == p.template.GetGeneration() && now.Status != metav1.ConditionUnknown
	if settled && (len(p.workspace.VariablesFrom) == 0 || p.memory.sources == sources) {
		return nil
	}
	value, err := p.judge(ctx)
	if err != nil {
		return err
	}
	p.memory.sources = sources
	conditions.Set(p.template, infrav1.VariablesValidCondition, value, p.clock().Now())
	return nil
}

func (p *pass) judge(ctx context.Context) (conditions.Value, error) {
	found, problem := p.open(ctx)
	var schema *image.Schema
	if problem == nil {
		var err error
		if schema, err = found.Schema(p.workspace.Source.Image); err != nil {
			problem, _ = errors.AsType[*inspect.Error](err)
		}
	}
	sources, err := inputs.Sources(ctx, p.Live, p.template.GetNamespace(), p.workspace.VariablesFrom)
	if err != nil {
		return conditions.Value{}, err
	}
	_, violations := inputs.Variables(p.Contract.Spec(p.role), p.workspace, sources, schema)
	var missing, wrong []string
	for _, v := range violations {
		if v.Reason == contract.ReasonMissing {
			missing = append(missing, v.String())
			continue
		}
		wrong = append(wrong, v.String())
	}
	if len(missing) > 0 {
		p.later(sourceRetry)
	}
	switch {
	case len(wrong) > 0: // Whatever the image says, these are refused.
		return conditions.False(infrav1.VariablesRejectedReason, "%s", strings.Join(wrong, "; ")), nil
	case len(missing) > 0:
		return conditions.Unknown(infrav1.VariablesSourcePendingReason, "%s", strings.Join(missing, "; ")), nil
	case problem != nil:
		return conditions.Unknown(infrav1.VariablesSchemaUnavailableReason, "%s", problem.Error()), nil
	case schema == nil:
		return conditions.True(infrav1.VariablesSchemaNotDeclaredReason, "the image declares no schema of its variables; the module itself decides"), nil
	}
	return conditions.True(infrav1.VariablesValidReason, "the variables fit the module"), nil
}

// fingerprint identifies the versions of the sources of variables, by their metadata.
func (p *pass) fingerprint(ctx context.Context) (string, error) {
	reader := p.Sources
	if reader == nil {
		reader = p.Live
	}
	var b strings.Builder
	for _, entry := range p.workspace.VariablesFrom {
		kind, name := "ConfigMap", ""
		switch {
		case entry.SecretRef != nil:
			kind, name = "Secret", entry.SecretRef.Name
		case entry.ConfigMapRef != nil:
			name = entry.ConfigMapRef.Name
		}
		source := &metav1.PartialObjectMetadata{}
		source.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		key := client.ObjectKey{Namespace: p.template.GetNamespace(), Name: name}
		if err := reader.Get(ctx, key, source); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("reading the metadata of %s %s: %w", kind, key, err)
		}
		fmt.Fprintf(&b, "%s/%s/%s/%s;", kind, name, source.UID, source.ResourceVersion)
	}
	return b.String(), nil
}
