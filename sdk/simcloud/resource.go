package simcloud

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// ReadResource implements [tfprotov6.ProviderServer].
func (p *provider) ReadResource(ctx context.Context, r *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	state, priv, err := p.read(ctx, r)
	if err != nil {
		return &tfprotov6.ReadResourceResponse{NewState: r.CurrentState, Private: r.Private, Diagnostics: diagnostics(err)}, nil
	}
	return &tfprotov6.ReadResourceResponse{NewState: state, Private: priv}, nil
}

func (p *provider) read(ctx context.Context, r *tfprotov6.ReadResourceRequest) (*tfprotov6.DynamicValue, []byte, error) {
	_, t, err := p.resource(r.TypeName)
	if err != nil {
		return nil, nil, err
	}
	current, err := attributesOf(r.CurrentState, t)
	if err != nil {
		return nil, nil, err
	}
	probe := p.subject(r.TypeName, current)
	e := p.cloud.strike(ctx, p.gone, OpRead, probe)
	defer e.ended()
	p.cloud.mu.Lock()
	defer p.cloud.mu.Unlock()
	if e.err != nil {
		p.log(OpRead, probe, e.err)
		return nil, nil, e.err
	}
	o := p.object(r.TypeName, r.Private, current)
	if o == nil || e.blind {
		d, err := encode(t, nil)
		return d, nil, err
	}
	o.Reads++
	if hook := p.brain.rule(r.TypeName).Read; hook != nil {
		seen := o.clone()
		if err := hook(p.context(OpRead, seen, o.Key)); err != nil {
			p.log(OpRead, o, err)
			return nil, nil, err
		}
		if p.cloud.objects[o.Key] == nil { // the hook found that it is gone
			d, err := encode(t, nil)
			return d, nil, err
		}
		if err := p.cloud.replace(seen); err != nil {
			return nil, nil, err
		}
		o = seen
	}
	d, err := encode(t, o.Attributes)
	return d, r.Private, err
}

// subject is what a call is about, as far as faults look at it.
func (p *provider) subject(typ string, attrs map[string]any) *Object {
	o := &Object{Source: p.brain.schema.Source, Type: typ, Owner: p.owner, Region: p.config.Region, Account: p.config.Account, Attributes: attrs}
	o.Kind = p.brain.rule(typ).Kind
	if o.Kind == KindOther {
		o.Kind = kindByName(typ)
	}
	if s := text(attrs["region"]); s != "" {
		o.Region = s
	}
	o.ID = identify(attrs, "")
	return o
}

// log notes a call. The cloud's lock must be held.
func (p *provider) log(op Op, o *Object, err error) {
	k := Call{Op: op, Type: o.Type, ID: o.ID, Owner: p.owner, Region: o.Region}
	if err != nil {
		k.Error = err.Error()
	}
	p.cloud.record(k)
}

// PlanResourceChange implements [tfprotov6.ProviderServer].
func (p *provider) PlanResourceChange(_ context.Context, r *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	out, err := p.plan(r)
	if err != nil {
		return &tfprotov6.PlanResourceChangeResponse{PlannedState: r.ProposedNewState, PlannedPrivate: r.PriorPrivate, Diagnostics: diagnostics(err)}, nil
	}
	return out, nil
}

func (p *provider) plan(r *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	s, t, err := p.resource(r.TypeName)
	if err != nil {
		return nil, err
	}
	prior, err := attributesOf(r.PriorState, t)
	if err != nil {
		return nil, err
	}
	proposed, err := attributesOf(r.ProposedNewState, t)
	if err != nil {
		return nil, err
	}
	out := &tfprotov6.PlanResourceChangeResponse{PlannedPrivate: r.PriorPrivate}
	if proposed == nil {
		out.PlannedState = r.ProposedNewState
		return out, nil
	}
	config, err := attributesOf(r.Config, t)
	if err != nil {
		return nil, err
	}
	pl := &planner{brain: p.brain, settings: p.config, typ: r.TypeName, rule: p.brain.rule(r.TypeName), create: prior == nil}
	if region := text(config["region"]); region != "" {
		pl.settings.Region = region
	}
	planned := pl.plan(s.Block, prior, proposed, config)
	if prior != nil {
		out.RequiresReplace = pl.replaces(s.Block, prior, planned)
	}
	out.UnsafeToUseLegacyTypeSystem = pl.loose //nolint:staticcheck // Providers of the older SDK use it for their defaults.
	out.PlannedState, err = encode(t, planned)
	return out, err
}

// ApplyResourceChange implements [tfprotov6.ProviderServer].
func (p *provider) ApplyResourceChange(ctx context.Context, r *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	out := &tfprotov6.ApplyResourceChangeResponse{NewState: r.PriorState, Private: r.PlannedPrivate}
	s, t, err := p.resource(r.TypeName)
	if err != nil {
		out.Diagnostics = diagnostics(err)
		return out, nil
	}
	prior, err := attributesOf(r.PriorState, t)
	if err != nil {
		out.Diagnostics = diagnostics(err)
		return out, nil
	}
	planned, err := attributesOf(r.PlannedState, t)
	if err != nil {
		out.Diagnostics = diagnostics(err)
		return out, nil
	}
	a := &applying{provider: p, schema: s, prior: prior, planned: planned, private: r.PlannedPrivate}
	switch {
	case planned == nil && prior == nil:
	case planned == nil:
		a.op, a.about = OpDelete, p.subject(r.TypeName, prior)
	case prior == nil:
		a.op, a.about = OpCreate, p.subject(r.TypeName, planned)
	default:
		a.op, a.about = OpUpdate, p.subject(r.TypeName, planned)
	}
	if a.op == "" {
		out.NewState = r.PlannedState
		return out, nil
	}
	object, err := a.run(ctx)
	out.Diagnostics = diagnostics(err)
	if err != nil && object == nil {
		return out, nil
	}
	// A default of an attribute that is not computed is in no plan that the runtime would check.
	out.UnsafeToUseLegacyTypeSystem = len(p.brain.rule(r.TypeName).Defaults) > 0 //nolint:staticcheck // As above.
	if object == nil {
		out.NewState, out.Private = r.PlannedState, nil
		return out, nil
	}
	state, encErr := encode(t, object.Attributes)
	priv, privErr := json.Marshal(private{Key: object.Key})
	for _, e := range []error{encErr, privErr} {
		out.Diagnostics = append(out.Diagnostics, diagnostics(e)...)
	}
	if encErr == nil {
		out.NewState, out.Private = state, priv
	}
	return out, nil
}

// applying is one create, update or delete.
type applying struct {
	*provider
	op             Op
	about          *Object
	schema         *tfprotov6.Schema
	prior, planned map[string]any
	private        []byte
}

// run makes the call. Both results may be set: an object whose create broke off.
func (a *applying) run(ctx context.Context) (*Object, error) {
	defer a.cloud.begin(a.about)()
	e := a.cloud.strike(ctx, a.gone, a.op, a.about)
	defer e.ended()
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	if e.err != nil && (!e.partial || a.op != OpCreate) {
		a.log(a.op, a.about, e.err)
		return nil, e.err
	}
	var object *Object
	var err error
	switch a.op {
	case OpCreate:
		object, err = a.create()
	case OpUpdate:
		object, err = a.update()
	default:
		err = a.remove()
	}
	if err == nil {
		err = e.err
	}
	if object != nil {
		a.about = object
		object = object.clone()
	}
	a.log(a.op, a.about, err)
	return object, err
}

func (a *applying) create() (*Object, error) {
	seed, err := a.cloud.seed(a.about.Source, a.about.Type, a.owner, a.planned)
	if err != nil {
		return nil, err
	}
	o := a.about
	o.Key, o.ID = seed[:32], ""
	o.Attributes, _ = normal(a.planned).(map[string]any)
	rule := a.brain.rule(o.Type)
	c := a.context(OpCreate, o, seed)
	a.brain.fill(c, a.schema.Block, rule.Values)
	o.ID = identify(o.Attributes, o.Key)
	if err := a.settle(c, rule.Create); err != nil {
		a.cloud.release(o.Key)
		return nil, err
	}
	if old := a.cloud.find(o.Type, o.ID); old != nil {
		a.cloud.release(o.Key)
		return nil, c.Refuse(RefuseExists, o.ID)
	}
	if err := a.cloud.add(o); err != nil {
		a.cloud.release(o.Key)
		return nil, err
	}
	return o, nil
}

func (a *applying) update() (*Object, error) {
	old := a.object(a.about.Type, a.private, a.prior)
	if old == nil {
		return nil, a.context(OpUpdate, a.about, "").Refuse(RefuseGone, a.about.ID)
	}
	o := old.clone()
	o.Attributes, _ = normal(a.planned).(map[string]any)
	// What an update makes anew differs from what was there.
	seed, err := a.cloud.seed(o.Key, a.planned)
	if err != nil {
		return nil, err
	}
	rule := a.brain.rule(o.Type)
	c := a.context(OpUpdate, o, seed)
	a.brain.fill(c, a.schema.Block, rule.Values)
	o.ID = identify(o.Attributes, o.Key)
	if err := a.settle(c, rule.Update); err != nil {
		return nil, err
	}
	if err := a.cloud.replace(o); err != nil {
		return nil, err
	}
	return o, nil
}

// settle checks what is unique, and lets the rule have its say.
func (a *applying) settle(c *Context, hook Hook) error {
	o := c.object
	for _, set := range a.brain.rule(o.Type).Unique {
		if other := a.twin(o, set); other != nil {
			return c.Refuse(RefuseExists, strings.Join(set, ", ")+" "+describe(o, set))
		}
	}
	if hook != nil {
		return hook(c)
	}
	return nil
}

// twin is another object with the same values of a set of attributes.
func (a *applying) twin(o *Object, set []string) *Object {
	for _, path := range set {
		if o.Get(path) == nil {
			return nil
		}
	}
	for _, other := range a.cloud.list(o.Type) {
		if other.Key == o.Key || other.Type != o.Type || other.Source != o.Source || other.Region != o.Region || other.Account != o.Account {
			continue
		}
		same := !slices.ContainsFunc(set, func(path string) bool { return !reflect.DeepEqual(o.Get(path), other.Get(path)) })
		if same {
			return other
		}
	}
	return nil
}

// describe shows the values of a set of attributes that are names.
func describe(o *Object, set []string) string {
	var out []string
	for _, path := range set {
		out = append(out, fmt.Sprintf("%q", o.Text(path)))
	}
	return strings.Join(out, ", ")
}

func (a *applying) remove() error {
	o := a.object(a.about.Type, a.private, a.prior)
	if o == nil {
		return nil // real providers take an object that is gone for deleted
	}
	a.about = o
	rule := a.brain.rule(o.Type)
	c := a.context(OpDelete, o, o.Key)
	for _, ref := range rule.UsedBy {
		to := o.ID
		if ref.To != "" {
			to = o.Text(ref.To)
		}
		for _, user := range a.cloud.list(ref.Type) {
			if user.Maker != o.Key && user.Key != o.Key && to != "" && refers(user.Attributes, ref.Attribute, to) {
				return c.Refuse(RefuseInUse, fmt.Sprintf("%s is used by %s %s", o.ID, user.Type, user.ID))
			}
		}
	}
	if rule.Delete != nil {
		if err := rule.Delete(c); err != nil {
			return err
		}
	}
	a.cloud.remove(o)
	return nil
}

// refers tells that the values at a path, in any element of any list on the way, hold an id.
func refers(x any, path, id string) bool {
	switch v := x.(type) {
	case string:
		return path == "" && v == id
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return refers(e, path, id) })
	case map[string]any:
		if path == "" {
			return false
		}
		head, rest, _ := strings.Cut(path, ".")
		return refers(v[head], rest, id)
	}
	return false
}

// ImportResourceState implements [tfprotov6.ProviderServer].
func (p *provider) ImportResourceState(_ context.Context, r *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	got, err := p.imported(r)
	if err != nil {
		return &tfprotov6.ImportResourceStateResponse{Diagnostics: diagnostics(err)}, nil
	}
	return &tfprotov6.ImportResourceStateResponse{ImportedResources: []*tfprotov6.ImportedResource{got}}, nil
}

func (p *provider) imported(r *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportedResource, error) {
	_, t, err := p.resource(r.TypeName)
	if err != nil {
		return nil, err
	}
	p.cloud.mu.Lock()
	defer p.cloud.mu.Unlock()
	o := p.cloud.find(r.TypeName, r.ID)
	if o == nil {
		return nil, fmt.Errorf("the simulated cloud has no %s with the id %q", r.TypeName, r.ID)
	}
	return importedResource(o, t)
}

func importedResource(o *Object, t tftypes.Type) (*tfprotov6.ImportedResource, error) {
	state, err := encode(t, o.Attributes)
	if err != nil {
		return nil, err
	}
	priv, err := json.Marshal(private{Key: o.Key})
	if err != nil {
		return nil, fmt.Errorf("importing a %s: %w", o.Type, err)
	}
	return &tfprotov6.ImportedResource{TypeName: o.Type, State: state, Private: priv}, nil
}
