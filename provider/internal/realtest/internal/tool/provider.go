package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// slow makes things, each when the server at its url answers. It ignores a stop, as clouds do.
type slow struct{ tfprotov6.ProviderServer }

const thing = "slow_thing"

var schema = &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{
	{Name: "id", Type: tftypes.String, Computed: true},
	{Name: "url", Type: tftypes.String, Optional: true},
}}}

func (slow) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	return &tfprotov6.GetMetadataResponse{Resources: []tfprotov6.ResourceMetadata{{TypeName: thing}}}, nil
}

func (slow) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{
		Provider:        &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}},
		ResourceSchemas: map[string]*tfprotov6.Schema{thing: schema},
	}, nil
}

func (slow) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (slow) ValidateProviderConfig(_ context.Context, r *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: r.Config}, nil
}

func (slow) ConfigureProvider(context.Context, *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (slow) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

func (slow) ValidateResourceConfig(context.Context, *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (slow) UpgradeResourceState(_ context.Context, r *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	v, err := r.RawState.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, err
	}
	d, err := tfprotov6.NewDynamicValue(schema.ValueType(), v)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &d}, err
}

func (slow) ReadResource(_ context.Context, r *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{NewState: r.CurrentState}, nil
}

// with returns a thing with another id; what is to be deleted stays as it is.
func with(planned *tfprotov6.DynamicValue, change func(m map[string]tftypes.Value) error) (*tfprotov6.DynamicValue, error) {
	v, err := planned.Unmarshal(schema.ValueType())
	if err != nil || v.IsNull() {
		return planned, err
	}
	m := map[string]tftypes.Value{}
	if err := v.As(&m); err != nil {
		return nil, err
	}
	if err := change(m); err != nil {
		return nil, err
	}
	d, err := tfprotov6.NewDynamicValue(schema.ValueType(), tftypes.NewValue(schema.ValueType(), m))
	return &d, err
}

func (slow) PlanResourceChange(_ context.Context, r *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	d, err := with(r.ProposedNewState, func(m map[string]tftypes.Value) error {
		if m["id"].IsNull() {
			m["id"] = tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
		}
		return nil
	})
	return &tfprotov6.PlanResourceChangeResponse{PlannedState: d}, err
}

func (slow) ApplyResourceChange(ctx context.Context, r *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	d, err := with(r.PlannedState, func(m map[string]tftypes.Value) error {
		var url string
		if !m["url"].IsNull() {
			if err := m["url"].As(&url); err != nil {
				return err
			}
		}
		if url != "" {
			if err := ask(context.WithoutCancel(ctx), url); err != nil {
				return err
			}
		}
		if !m["id"].IsKnown() {
			m["id"] = tftypes.NewValue(tftypes.String, rand.Text())
		}
		return nil
	})
	if err != nil {
		//nolint:nilerr // the diagnostic tells of it
		return &tfprotov6.ApplyResourceChangeResponse{NewState: r.PriorState, Diagnostics: []*tfprotov6.Diagnostic{{
			Severity: tfprotov6.DiagnosticSeverityError, Summary: "The thing was not made", Detail: err.Error(),
		}}}, nil
	}
	return &tfprotov6.ApplyResourceChangeResponse{NewState: d}, nil
}

// ask returns when the server allows it.
func ask(ctx context.Context, url string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("the server says %s", a.Status)
	}
	return nil
}
