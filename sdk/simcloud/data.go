package simcloud

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// ValidateDataResourceConfig implements [tfprotov6.ProviderServer].
func (p *provider) ValidateDataResourceConfig(_ context.Context, r *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	var err error
	if p.brain.schema.Data[r.TypeName] == nil {
		err = p.unknownType("data source", r.TypeName)
	}
	return &tfprotov6.ValidateDataResourceConfigResponse{Diagnostics: diagnostics(err)}, nil
}

// ReadDataSource implements [tfprotov6.ProviderServer].
func (p *provider) ReadDataSource(ctx context.Context, r *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	d, err := p.data(ctx, r)
	if err != nil {
		return &tfprotov6.ReadDataSourceResponse{Diagnostics: diagnostics(err)}, nil
	}
	return &tfprotov6.ReadDataSourceResponse{State: d}, nil
}

func (p *provider) data(ctx context.Context, r *tfprotov6.ReadDataSourceRequest) (*tfprotov6.DynamicValue, error) {
	s := p.brain.schema.Data[r.TypeName]
	if s == nil {
		return nil, p.unknownType("data source", r.TypeName)
	}
	t := s.ValueType()
	config, err := attributesOf(r.Config, t)
	if err != nil {
		return nil, err
	}
	if config == nil {
		config = map[string]any{}
	}
	o := p.subject(r.TypeName, config)
	e := p.cloud.strike(ctx, p.gone, OpData, o)
	defer e.ended()
	p.cloud.mu.Lock()
	defer p.cloud.mu.Unlock()
	if e.err != nil {
		p.log(OpData, o, e.err)
		return nil, e.err
	}
	l := &looking{provider: p, schema: s, object: o, config: config, rule: p.brain.persona.Data[r.TypeName]}
	if err := l.answer(e.blind); err != nil {
		p.log(OpData, o, err)
		return nil, err
	}
	return encode(t, o.Attributes)
}

// looking is the reading of one data source.
type looking struct {
	*provider
	schema *tfprotov6.Schema
	object *Object
	config map[string]any
	rule   DataRule
	// of is the resource type whose objects it finds; many tells that it finds any number.
	of   string
	many bool
}

// answer completes the attributes of the object. The cloud's lock must be held.
func (l *looking) answer(blind bool) error {
	o := l.object
	o.Attributes, _ = normal(l.config).(map[string]any)
	// The same question gets the same answer, so it is not counted.
	sum, err := digest(o.Source, o.Type, l.config)
	if err != nil {
		return err
	}
	o.Key = "data/" + sum
	l.choose()
	var found []*Object
	if !blind {
		found = l.find()
	}
	for _, a := range l.schema.Block.Attributes {
		if o.Attributes[a.Name] == nil && a.Computed {
			o.Attributes[a.Name] = unknown{}
		}
	}
	if r := attribute(l.schema.Block, "region"); r != nil && l.config["region"] == nil && l.provider.config.Region != "" {
		o.Attributes["region"] = l.provider.config.Region
	}
	switch {
	case l.many && (len(found) > 0 || l.closed()):
		l.collect(found)
	case len(found) > 0:
		l.take(found[len(found)-1]) // the newest, as most_recent and the like mean
	case l.rule.Strict:
		return fmt.Errorf("the simulated cloud has no %s that the data source asks for", orElse(l.of, o.Type))
	}
	c := l.context(OpData, o, o.Key)
	l.brain.fill(c, l.schema.Block, l.rule.Values)
	defer l.cloud.release(o.Key) // what is made up for an answer keeps no name
	if l.rule.Read != nil {
		return l.rule.Read(c)
	}
	return nil
}

// choose finds out which resource type the data source looks for.
func (l *looking) choose() {
	typ := l.object.Type
	l.of, l.many = l.rule.Of, len(l.rule.List) > 0
	if l.of != "" {
		return
	}
	if l.known(typ) {
		l.of = typ
		return
	}
	for _, ending := range [][2]string{{"ies", "y"}, {"sses", "ss"}, {"s", ""}} {
		if head, ok := strings.CutSuffix(typ, ending[0]); ok && l.known(head+ending[1]) {
			l.of, l.many = head+ending[1], true
			return
		}
	}
	l.of = typ
}

// known tells that there are or may be objects of a type.
func (l *looking) known(typ string) bool {
	_, ruled := l.brain.persona.Types[typ]
	return ruled || l.brain.schema.Resources[typ] != nil || len(l.cloud.list(typ)) > 0
}

// closed tells that what the data source lists cannot exist outside of the simulated cloud, so that
// an empty list is the answer.
func (l *looking) closed() bool {
	switch l.cloud.kind(l.object.Source, l.of) {
	case KindInstance, KindGroup, KindAttachment, KindPort, KindVolume:
		return true
	}
	return l.rule.Strict
}

// find returns the objects that the arguments fit, in the order in which they were made. A data source
// that looks for one and says nothing about it finds none.
func (l *looking) find() []*Object {
	var found []*Object
	for _, o := range l.cloud.list(l.of) {
		if o.Source != l.object.Source || o.Region != "" && l.object.Region != "" && o.Region != l.object.Region {
			continue
		}
		asked, fits := l.fits(o)
		if fits && (asked || l.many) {
			found = append(found, o)
		}
	}
	return found
}

// fits tells whether the arguments ask for anything and whether an object has it.
func (l *looking) fits(o *Object) (asked, fits bool) {
	fits = true
	for _, name := range keys(l.config) {
		want := l.config[name]
		if want == nil || name == "region" {
			continue
		}
		path, mapped := l.rule.Match[name]
		if mapped && path == "" {
			continue
		}
		switch {
		case mapped:
			asked = true
			fits = fits && holds(o.Get(path), want)
		case nested(l.schema.Block, name) != nil:
			for _, f := range elements(want) {
				path, values, ok := l.filter(f)
				if !ok {
					continue
				}
				asked = true
				fits = fits && slices.ContainsFunc(values, func(v any) bool { return holds(o.Get(path), v) })
			}
		default:
			have, is := o.Attributes[name]
			if !is {
				continue // an argument that is no attribute, such as most_recent
			}
			asked = true
			fits = fits && holds(have, want)
		}
	}
	return asked, fits
}

// filter reads a block such as filter { name = "vpc-id", values = ["vpc-1"] }.
func (l *looking) filter(f map[string]any) (path string, values []any, ok bool) {
	name := text(f["name"])
	values, ok = f["values"].([]any)
	if name == "" || !ok {
		return "", nil, false
	}
	if path, is := l.rule.Filter[name]; is {
		return path, values, path != ""
	}
	if tag, is := strings.CutPrefix(name, "tag:"); is {
		return "tags." + tag, values, true
	}
	return strings.ReplaceAll(name, "-", "_"), values, true
}

// holds tells that what an object has is what is asked for: the same, or for a map and a list at
// least that. A text may have wildcards.
func holds(have, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		for k, x := range w {
			ok = ok && holds(h[k], x)
		}
		return ok
	case []any:
		h, ok := have.([]any)
		if !ok {
			return slices.ContainsFunc(w, func(x any) bool { return holds(have, x) })
		}
		for _, x := range w {
			ok = ok && slices.ContainsFunc(h, func(y any) bool { return holds(y, x) })
		}
		return ok
	case string:
		if list, is := have.([]any); is {
			return slices.ContainsFunc(list, func(x any) bool { return holds(x, want) })
		}
		h := text(have)
		if strings.ContainsAny(w, "*?") {
			return h != "" && glob(w, h)
		}
		return have != nil && h == w
	}
	return reflect.DeepEqual(have, want) || text(have) != "" && text(have) == text(want)
}

// take copies what an object has into the answer.
func (l *looking) take(o *Object) {
	from, _ := normal(o.Attributes).(map[string]any)
	for _, a := range l.schema.Block.Attributes {
		if _, open := l.object.Attributes[a.Name].(unknown); !open {
			continue
		}
		x, ok := from[a.Name]
		if !ok && a.Name == "id" {
			x, ok = o.ID, true
		}
		if !ok || x == nil {
			continue
		}
		if v, err := typed(a.ValueType(), x); err == nil {
			l.object.Attributes[a.Name] = plain(v)
		}
	}
}

// collect puts attributes of all objects found into the lists of the answer.
func (l *looking) collect(found []*Object) {
	lists := l.rule.List
	if len(lists) == 0 {
		lists = map[string]string{"ids": "id"}
		for _, a := range l.schema.Block.Attributes {
			if one, ok := singular(a.Name); ok && a.Computed && a.Name != "ids" {
				lists[a.Name] = one
			}
		}
	}
	for name, path := range lists {
		a := attribute(l.schema.Block, name)
		if a == nil || l.config[name] != nil {
			continue
		}
		values := []any{}
		for _, o := range found {
			x := o.Get(path)
			if path == "id" {
				x = o.ID
			}
			if x != nil {
				values = append(values, x)
			}
		}
		if v, err := typed(a.ValueType(), values); err == nil {
			l.object.Attributes[name] = plain(v)
		}
	}
}
