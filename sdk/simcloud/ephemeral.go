package simcloud

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// ValidateEphemeralResourceConfig implements [tfprotov6.ProviderServer].
func (p *provider) ValidateEphemeralResourceConfig(_ context.Context, r *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	var err error
	if p.brain.schema.Ephemerals[r.TypeName] == nil {
		err = p.unknownType("ephemeral resource", r.TypeName)
	}
	return &tfprotov6.ValidateEphemeralResourceConfigResponse{Diagnostics: diagnostics(err)}, nil
}

// OpenEphemeralResource implements [tfprotov6.ProviderServer]. What it opens never has to be renewed.
func (p *provider) OpenEphemeralResource(ctx context.Context, r *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	d, err := p.open(ctx, r)
	return &tfprotov6.OpenEphemeralResourceResponse{Result: d, Diagnostics: diagnostics(err)}, nil
}

func (p *provider) open(ctx context.Context, r *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.DynamicValue, error) {
	s := p.brain.schema.Ephemerals[r.TypeName]
	if s == nil {
		return nil, p.unknownType("ephemeral resource", r.TypeName)
	}
	t := s.ValueType()
	config, err := attributesOf(r.Config, t)
	if err != nil {
		return nil, err
	}
	sum, err := digest(p.brain.schema.Source, r.TypeName, config)
	if err != nil {
		return nil, err
	}
	o := p.subject(r.TypeName, config)
	e := p.cloud.strike(ctx, p.gone, OpOpen, o)
	defer e.ended()
	p.cloud.mu.Lock()
	defer p.cloud.mu.Unlock()
	p.log(OpOpen, o, e.err)
	if e.err != nil {
		return nil, e.err
	}
	o.Key = "ephemeral/" + sum
	o.Attributes, _ = normal(config).(map[string]any)
	if o.Attributes == nil {
		o.Attributes = map[string]any{}
	}
	for _, a := range s.Block.Attributes {
		if o.Attributes[a.Name] == nil && a.Computed {
			o.Attributes[a.Name] = unknown{}
		}
	}
	p.brain.fill(p.context(OpOpen, o, o.Key), s.Block, p.brain.persona.Ephemeral[r.TypeName])
	p.cloud.release(o.Key)
	return encode(t, o.Attributes)
}

// RenewEphemeralResource implements [tfprotov6.ProviderServer].
func (p *provider) RenewEphemeralResource(_ context.Context, r *tfprotov6.RenewEphemeralResourceRequest) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	return &tfprotov6.RenewEphemeralResourceResponse{Private: r.Private}, nil
}

// CloseEphemeralResource implements [tfprotov6.ProviderServer].
func (p *provider) CloseEphemeralResource(context.Context, *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	return &tfprotov6.CloseEphemeralResourceResponse{}, nil
}

// GetFunctions implements [tfprotov6.ProviderServer].
func (p *provider) GetFunctions(context.Context, *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	return &tfprotov6.GetFunctionsResponse{Functions: p.brain.schema.Functions}, nil
}

// CallFunction implements [tfprotov6.ProviderServer].
func (p *provider) CallFunction(_ context.Context, r *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	out := &tfprotov6.CallFunctionResponse{}
	d, err := p.call(r)
	out.Result = d
	if err != nil {
		out.Result, out.Error = nil, &tfprotov6.FunctionError{Text: err.Error()}
	}
	return out, nil
}

func (p *provider) call(r *tfprotov6.CallFunctionRequest) (*tfprotov6.DynamicValue, error) {
	schema, f := p.brain.schema.Functions[r.Name], p.brain.persona.Functions[r.Name]
	if schema == nil || f == nil {
		return nil, fmt.Errorf("the simulated provider %s does not know what its function %s gives: call it outside of what is simulated", p.brain.schema.Source, r.Name)
	}
	var args []any
	for i, a := range r.Arguments {
		parameter := schema.VariadicParameter
		if i < len(schema.Parameters) {
			parameter = schema.Parameters[i]
		}
		if parameter == nil {
			return nil, fmt.Errorf("calling %s: it takes %d arguments", r.Name, len(schema.Parameters))
		}
		v, err := a.Unmarshal(parameter.Type)
		if err != nil {
			return nil, fmt.Errorf("calling %s: argument %d: %w", r.Name, i+1, err)
		}
		args = append(args, plain(v))
	}
	x, err := f(args)
	if err != nil {
		return nil, err
	}
	v, err := typed(schema.Return.Type, normal(x))
	if err != nil {
		return nil, fmt.Errorf("calling %s: its result: %w", r.Name, err)
	}
	d, err := tfprotov6.NewDynamicValue(schema.Return.Type, v)
	return &d, err
}
