package simcloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// provider is one configured provider: one for each connection.
type provider struct {
	brain *brain
	cloud *Cloud
	owner string
	// gone is closed when the connection is.
	gone <-chan struct{}
	// config are the settings of the provider's configuration.
	config Settings
}

var _ tfprotov6.ProviderServer = (*provider)(nil)

// diagnostics make an error one of the provider's answer.
func diagnostics(err error) []*tfprotov6.Diagnostic {
	if err == nil {
		return nil
	}
	return []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError, Summary: err.Error()}}
}

// unknownType is the error of a call for a type that the schema has not.
func (p *provider) unknownType(kind, typ string) error {
	return fmt.Errorf("the simulated provider %s has no %s %q", p.brain.schema.Source, kind, typ)
}

// attributesOf decodes an object of a schema; a null one is nil.
func attributesOf(d *tfprotov6.DynamicValue, t tftypes.Type) (map[string]any, error) {
	if d == nil {
		return nil, nil
	}
	v, err := d.Unmarshal(t)
	if err != nil {
		return nil, fmt.Errorf("reading a value of the runtime: %w", err)
	}
	switch x := plain(v).(type) {
	case map[string]any:
		return x, nil
	case nil:
		return nil, nil
	case unknown:
		return nil, errors.New("reading a value of the runtime: it is not known")
	}
	return nil, errors.New("reading a value of the runtime: it is no object")
}

// encode makes an object of a schema; nil becomes null.
func encode(t tftypes.Type, attrs map[string]any) (*tfprotov6.DynamicValue, error) {
	var x any
	if attrs != nil {
		x = attrs
	}
	v, err := typed(t, x)
	if err != nil {
		return nil, fmt.Errorf("making a value for the runtime: %w", err)
	}
	d, err := tfprotov6.NewDynamicValue(t, v)
	if err != nil {
		return nil, fmt.Errorf("making a value for the runtime: %w", err)
	}
	return &d, nil
}

// digest is one of any values.
func digest(parts ...any) (string, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(parts); err != nil {
		return "", fmt.Errorf("making an id: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// seed is a digest of what is asked for; the same that is asked for again gets another one.
// The cloud's lock must be held.
func (c *Cloud) seed(parts ...any) (string, error) {
	once, err := digest(parts...)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", once, c.count(once[:16])))
	return hex.EncodeToString(sum[:]), nil
}

// GetMetadata implements [tfprotov6.ProviderServer].
func (p *provider) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	out := &tfprotov6.GetMetadataResponse{ServerCapabilities: capabilities()}
	for _, t := range keys(p.brain.schema.Resources) {
		out.Resources = append(out.Resources, tfprotov6.ResourceMetadata{TypeName: t})
	}
	for _, t := range keys(p.brain.schema.Data) {
		out.DataSources = append(out.DataSources, tfprotov6.DataSourceMetadata{TypeName: t})
	}
	for _, t := range keys(p.brain.schema.Ephemerals) {
		out.EphemeralResources = append(out.EphemeralResources, tfprotov6.EphemeralResourceMetadata{TypeName: t})
	}
	for _, n := range keys(p.brain.schema.Functions) {
		out.Functions = append(out.Functions, tfprotov6.FunctionMetadata{Name: n})
	}
	return out, nil
}

func capabilities() *tfprotov6.ServerCapabilities {
	return &tfprotov6.ServerCapabilities{GetProviderSchemaOptional: true, PlanDestroy: true}
}

// GetProviderSchema implements [tfprotov6.ProviderServer].
func (p *provider) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	s := p.brain.schema
	return &tfprotov6.GetProviderSchemaResponse{
		ServerCapabilities: capabilities(), Provider: s.Provider, ResourceSchemas: s.Resources, DataSourceSchemas: s.Data,
		EphemeralResourceSchemas: s.Ephemerals, Functions: s.Functions,
	}, nil
}

// GetResourceIdentitySchemas implements [tfprotov6.ProviderServer].
func (p *provider) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

// ValidateProviderConfig implements [tfprotov6.ProviderServer].
func (p *provider) ValidateProviderConfig(_ context.Context, r *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: r.Config}, nil
}

// ConfigureProvider implements [tfprotov6.ProviderServer].
func (p *provider) ConfigureProvider(_ context.Context, r *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	config, err := attributesOf(r.Config, p.brain.schema.Provider.ValueType())
	if err != nil {
		return &tfprotov6.ConfigureProviderResponse{Diagnostics: diagnostics(err)}, nil
	}
	p.config = p.brain.settings(config)
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

// StopProvider implements [tfprotov6.ProviderServer]. The server around it ends the contexts
// of all calls of this connection.
func (p *provider) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

// resource returns the schema of a resource type.
func (p *provider) resource(typ string) (*tfprotov6.Schema, tftypes.Type, error) {
	s := p.brain.schema.Resources[typ]
	if s == nil {
		return nil, nil, p.unknownType("resource type", typ)
	}
	return s, s.ValueType(), nil
}

// ValidateResourceConfig implements [tfprotov6.ProviderServer]. What a schema says is checked by
// the runtime; what validators of the real provider would say is not known.
func (p *provider) ValidateResourceConfig(_ context.Context, r *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	_, _, err := p.resource(r.TypeName)
	return &tfprotov6.ValidateResourceConfigResponse{Diagnostics: diagnostics(err)}, nil
}

// UpgradeResourceState implements [tfprotov6.ProviderServer].
func (p *provider) UpgradeResourceState(_ context.Context, r *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	d, err := p.upgrade(r)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: d, Diagnostics: diagnostics(err)}, nil
}

func (p *provider) upgrade(r *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.DynamicValue, error) {
	_, t, err := p.resource(r.TypeName)
	if err != nil {
		return nil, err
	}
	if r.RawState == nil || len(r.RawState.JSON) == 0 {
		return nil, fmt.Errorf("reading the state of a %s: it is of a version of the runtime that is too old", r.TypeName)
	}
	v, err := r.RawState.UnmarshalWithOpts(t, tfprotov6.UnmarshalOpts{
		ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true},
	})
	if err != nil {
		return nil, fmt.Errorf("reading the state of a %s: %w", r.TypeName, err)
	}
	d, err := tfprotov6.NewDynamicValue(t, v)
	if err != nil {
		return nil, fmt.Errorf("reading the state of a %s: %w", r.TypeName, err)
	}
	return &d, nil
}

// UpgradeResourceIdentity implements [tfprotov6.ProviderServer].
func (p *provider) UpgradeResourceIdentity(_ context.Context, r *tfprotov6.UpgradeResourceIdentityRequest) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	return &tfprotov6.UpgradeResourceIdentityResponse{Diagnostics: diagnostics(fmt.Errorf("a simulated %s has no identity beside its id", r.TypeName))}, nil
}

// MoveResourceState implements [tfprotov6.ProviderServer].
func (p *provider) MoveResourceState(_ context.Context, r *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	return &tfprotov6.MoveResourceStateResponse{Diagnostics: diagnostics(fmt.Errorf("a simulated provider cannot move a %s to a %s", r.SourceTypeName, r.TargetTypeName))}, nil
}

// GenerateResourceConfig implements [tfprotov6.ProviderServer].
func (p *provider) GenerateResourceConfig(context.Context, *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	return &tfprotov6.GenerateResourceConfigResponse{Diagnostics: diagnostics(errors.New("a simulated provider generates no configuration"))}, nil
}

// private is what the runtime keeps for us beside an object's state.
type private struct {
	Key string `json:"captf_key"`
}

// object finds the object that a state is of: by its key, or else by what it says its id is.
// The cloud's lock must be held.
func (p *provider) object(typ string, priv []byte, state map[string]any) *Object {
	var x private
	if json.Unmarshal(priv, &x) == nil && x.Key != "" {
		return p.cloud.objects[x.Key]
	}
	return p.cloud.find(typ, identify(state, ""))
}

// identify is the id by which an object is known.
func identify(attrs map[string]any, key string) string {
	for _, name := range []string{"id", "arn", "self_link", "name"} {
		if s := text(attrs[name]); s != "" {
			return s
		}
	}
	return key
}

// context is that of one call about an object.
func (p *provider) context(op Op, o *Object, seed string) *Context {
	return &Context{cloud: p.cloud, op: op, settings: p.config, object: o, seed: seed}
}
