package simcloud

import (
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// planner finds what an object will be once a configuration is applied.
type planner struct {
	brain    *brain
	settings Settings
	typ      string
	rule     TypeRule
	create   bool
	// loose tells that a default was planned for an attribute that is not computed, as providers
	// of the older SDK do.
	loose bool
}

// plan returns the planned values. proposed has the configuration over the prior values, null
// where neither says anything.
func (p *planner) plan(block *tfprotov6.SchemaBlock, prior, proposed, config map[string]any) map[string]any {
	planned, _ := normal(proposed).(map[string]any)
	for _, a := range block.Attributes {
		if d, ok := p.rule.Defaults[a.Name]; ok && config[a.Name] == nil && !a.WriteOnly {
			if x, ok := p.standard(a, d); ok {
				planned[a.Name] = x
				continue
			}
		}
		planned[a.Name] = p.attribute(a, planned[a.Name], a.Name, true)
	}
	for _, n := range block.BlockTypes {
		p.nested(n, planned[n.TypeName], n.TypeName)
	}
	p.derive(block, planned, config)
	if !p.create && !reflect.DeepEqual(planned, prior) {
		for _, a := range block.Attributes {
			again := slices.Contains(p.rule.Recompute, a.Name) || slices.Contains(p.rule.Recompute, "*") && a.Name != "id"
			if again && a.Computed && config[a.Name] == nil {
				planned[a.Name] = unknown{}
			}
		}
	}
	return planned
}

// standard is the default of an attribute, as a value of its type.
func (p *planner) standard(a *tfprotov6.SchemaAttribute, d any) (any, bool) {
	if s, ok := d.(string); ok {
		d = strings.NewReplacer("{region}", p.settings.Region, "{account}", p.settings.Account).Replace(s)
	}
	v, err := typed(a.ValueType(), normal(d))
	if err != nil {
		return nil, false
	}
	p.loose = p.loose || !a.Computed
	return plain(v), true
}

// attribute marks as unknown what the cloud decides.
func (p *planner) attribute(a *tfprotov6.SchemaAttribute, x any, path string, top bool) any {
	switch {
	case a.WriteOnly:
		return nil
	case x == nil && !top:
		if d, ok := p.rule.Defaults[path]; ok {
			if y, ok := p.standard(a, d); ok {
				return y
			}
		}
		// An element that was there before has no null of its own: it is a new one.
		if a.Computed {
			return unknown{}
		}
	case x == nil && a.Computed && p.create:
		return unknown{}
	case x != nil && a.NestedType != nil:
		for _, e := range blockElements(x, a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeMap) {
			for _, n := range a.NestedType.Attributes {
				e[n.Name] = p.attribute(n, e[n.Name], path+"."+n.Name, false)
			}
		}
	}
	return x
}

func (p *planner) nested(n *tfprotov6.SchemaNestedBlock, x any, path string) {
	for _, e := range blockElements(x, n.Nesting == tfprotov6.SchemaNestedBlockNestingModeMap) {
		for _, a := range n.Block.Attributes {
			e[a.Name] = p.attribute(a, e[a.Name], path+"."+a.Name, false)
		}
		for _, m := range n.Block.BlockTypes {
			p.nested(m, e[m.TypeName], path+"."+m.TypeName)
		}
	}
}

// merged are computed attributes that hold what the provider's configuration puts on
// every object together with the object's own, by the attribute that holds the latter.
var merged = map[string]string{
	"tags_all": "tags", "effective_labels": "labels", "terraform_labels": "labels", "effective_annotations": "annotations", "all_tags": "tags",
}

// derive plans what the provider's configuration decides.
func (p *planner) derive(block *tfprotov6.SchemaBlock, planned, config map[string]any) {
	if a := attribute(block, "region"); a != nil && a.Computed && config["region"] == nil && p.settings.Region != "" && a.Type != nil && a.Type.Is(tftypes.String) {
		if p.create || planned["region"] == nil {
			planned["region"] = p.settings.Region
		}
	}
	for all, own := range merged {
		a := attribute(block, all)
		if a == nil || !a.Computed || config[all] != nil || attribute(block, own) == nil {
			continue
		}
		if a.Type == nil || !a.Type.Is(tftypes.Map{}) { // texts, which no configuration of a provider adds to
			planned[all] = orEmpty(planned[own])
			continue
		}
		tags := map[string]any{}
		for k, v := range p.settings.Tags {
			tags[k] = v
		}
		known := true
		switch v := planned[own].(type) {
		case unknown:
			known = false
		case map[string]any:
			for k, x := range v {
				if _, open := x.(unknown); open {
					known = false
				}
				tags[k] = x
			}
		}
		planned[all] = any(tags)
		if !known {
			planned[all] = unknown{}
		}
	}
}

// orEmpty is a list, empty for null.
func orEmpty(x any) any {
	if x == nil {
		return []any{}
	}
	return x
}

// replaces returns the attributes whose change replaces the object.
func (p *planner) replaces(block *tfprotov6.SchemaBlock, prior, planned map[string]any) []*tftypes.AttributePath {
	var out []*tftypes.AttributePath
	for _, pattern := range p.forceNew(planned) {
		out = append(out, changed(block, prior, planned, pattern, tftypes.NewAttributePath())...)
	}
	return out
}

// forceNew are the patterns that hold for the object, each once.
func (p *planner) forceNew(planned map[string]any) []string {
	var out []string
	for _, a := range slices.Concat(p.brain.persona.ForceNew, p.rule.ForceNew) {
		if off, ok := strings.CutPrefix(a, "-"); ok {
			out = slices.DeleteFunc(out, func(s string) bool { return s == off })
			continue
		}
		a, condition, conditional := strings.Cut(a, "?")
		if conditional && lookup(planned, condition) != true {
			continue
		}
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// changed are the paths below a block that a pattern fits and whose values differ.
func changed(block *tfprotov6.SchemaBlock, prior, planned map[string]any, pattern string, at *tftypes.AttributePath) []*tftypes.AttributePath {
	name, rest, deeper := strings.Cut(pattern, ".")
	if reflect.DeepEqual(prior[name], planned[name]) {
		return nil
	}
	here := at.WithAttributeName(name)
	if attribute(block, name) != nil {
		return []*tftypes.AttributePath{here} // a change in it is one of all of it
	}
	n := nested(block, name)
	if n == nil {
		return nil
	}
	if !deeper {
		return []*tftypes.AttributePath{here}
	}
	was, _ := prior[name].([]any)
	will, _ := planned[name].([]any)
	switch n.Nesting {
	case tfprotov6.SchemaNestedBlockNestingModeSingle, tfprotov6.SchemaNestedBlockNestingModeGroup:
		w, _ := prior[name].(map[string]any)
		x, _ := planned[name].(map[string]any)
		return changed(n.Block, w, x, rest, here)
	case tfprotov6.SchemaNestedBlockNestingModeList:
		var out []*tftypes.AttributePath
		for i := range min(len(was), len(will)) {
			w, _ := was[i].(map[string]any)
			x, _ := will[i].(map[string]any)
			out = append(out, changed(n.Block, w, x, rest, here.WithElementKeyInt(i))...)
		}
		if len(was) != len(will) {
			out = append(out, here)
		}
		return out
	default: // elements of sets and maps have no place: the values at the pattern are compared as a whole
		if reflect.DeepEqual(collect(prior[name], rest), collect(planned[name], rest)) {
			return nil
		}
		return []*tftypes.AttributePath{here}
	}
}

// collect are the values at a pattern in all elements.
func collect(x any, pattern string) []any {
	var out []any
	for _, e := range elements(x) {
		out = append(out, lookup(e, pattern))
	}
	return out
}
