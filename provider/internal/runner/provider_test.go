package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// The provider of the tests makes one kind of thing, which is made when somebody writes to a pipe. It ignores a stop, as
// clouds do.
const providerSource = "example.com/captf/slow"

func serveProvider() {
	if err := tf6server.Serve(providerSource, func() tfprotov6.ProviderServer { return slowProvider{} }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// installProvider puts the provider into the mirror of an image.
func installProvider(t *testing.T, mirror string) {
	t.Helper()
	dir := filepath.Join(mirror, providerSource, "1.0.0", runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program(t, filepath.Join(dir, "terraform-provider-slow_v1.0.0"), "provider")
}

type slowProvider struct{ tfprotov6.ProviderServer }

var slowSchema = &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{
	{Name: "id", Type: tftypes.String, Computed: true},
	{Name: "pipes", Type: tftypes.String, Required: true},
	{Name: "token", Type: tftypes.String, Optional: true, Sensitive: true},
}}}

var slowType = slowSchema.ValueType()

func (slowProvider) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	return &tfprotov6.GetMetadataResponse{Resources: []tfprotov6.ResourceMetadata{{TypeName: "slow_thing"}}}, nil
}

func (slowProvider) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{
		Provider:        &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}},
		ResourceSchemas: map[string]*tfprotov6.Schema{"slow_thing": slowSchema},
	}, nil
}

func (slowProvider) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (slowProvider) ValidateProviderConfig(_ context.Context, r *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: r.Config}, nil
}

func (slowProvider) ConfigureProvider(context.Context, *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (slowProvider) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

func (slowProvider) ValidateResourceConfig(context.Context, *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (slowProvider) UpgradeResourceState(_ context.Context, r *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	v, err := r.RawState.Unmarshal(slowType)
	if err != nil {
		return nil, err
	}
	d, err := tfprotov6.NewDynamicValue(slowType, v)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &d}, err
}

func (slowProvider) ReadResource(_ context.Context, r *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{NewState: r.CurrentState}, nil
}

// attributes of a dynamic value; nil if it is null.
func attributes(d *tfprotov6.DynamicValue) (map[string]tftypes.Value, error) {
	v, err := d.Unmarshal(slowType)
	if err != nil || v.IsNull() {
		return nil, err
	}
	m := map[string]tftypes.Value{}
	return m, v.As(&m)
}

func dynamic(m map[string]tftypes.Value) (*tfprotov6.DynamicValue, error) {
	d, err := tfprotov6.NewDynamicValue(slowType, tftypes.NewValue(slowType, m))
	return &d, err
}

func (slowProvider) PlanResourceChange(_ context.Context, r *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	m, err := attributes(r.ProposedNewState)
	if err != nil || m == nil {
		return &tfprotov6.PlanResourceChangeResponse{PlannedState: r.ProposedNewState}, err
	}
	if m["id"].IsNull() {
		m["id"] = tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	}
	d, err := dynamic(m)
	return &tfprotov6.PlanResourceChangeResponse{PlannedState: d}, err
}

func (slowProvider) ApplyResourceChange(_ context.Context, r *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	m, err := attributes(r.PlannedState)
	if err != nil || m == nil {
		return &tfprotov6.ApplyResourceChangeResponse{NewState: r.PlannedState}, err
	}
	var pipes string
	if err := m["pipes"].As(&pipes); err != nil {
		return nil, err
	}
	if pipes != "" {
		if err := os.WriteFile(filepath.Join(pipes, "started"), []byte("started\n"), 0o600); err != nil {
			return nil, err
		}
		if _, err := os.ReadFile(filepath.Join(pipes, "release")); err != nil {
			return nil, err
		}
	}
	m["id"] = tftypes.NewValue(tftypes.String, "made")
	d, err := dynamic(m)
	return &tfprotov6.ApplyResourceChangeResponse{NewState: d}, err
}
