package v1alpha1

import (
	"encoding/json"

	"github.com/captf-toolkit/captf/contract"
)

// record reads members of a tree that was checked against its shape. A member
// that is absent or null reads as zero.
type record map[string]any

func (o record) object(name string) record {
	members, _ := o[name].(map[string]any)
	return members
}

func (o record) text(name string) string {
	s, _ := o[name].(string)
	return s
}

func (o record) optionalText(name string) *string {
	if s, ok := o[name].(string); ok {
		return &s
	}
	return nil
}

func (o record) flag(name string) bool {
	b, _ := o[name].(bool)
	return b
}

func (o record) whole(name string) int64 {
	n, _ := o[name].(json.Number)
	i, _ := n.Int64()
	return i
}

func (o record) optionalWhole(name string) *int64 {
	if _, ok := o[name].(json.Number); !ok {
		return nil
	}
	n := o.whole(name)
	return &n
}

func (o record) texts(name string) []string {
	items, ok := o[name].([]any)
	if !ok {
		return nil
	}
	out := make([]string, 0, len(items))
	for _, item := range items {
		s, _ := item.(string)
		out = append(out, s)
	}
	return out
}

func (o record) textMap(name string) map[string]string {
	members, ok := o[name].(map[string]any)
	if !ok {
		return nil
	}
	out := make(map[string]string, len(members))
	for key, value := range members {
		s, _ := value.(string)
		out[key] = s
	}
	return out
}

// objects returns the items of a list of objects, nil when the list is null.
func (o record) objects(name string) []record {
	items, ok := o[name].([]any)
	if !ok {
		return nil
	}
	out := make([]record, 0, len(items))
	for _, item := range items {
		members, _ := item.(map[string]any)
		out = append(out, members)
	}
	return out
}

func endpointOf(o record) *contract.Endpoint {
	if o == nil {
		return nil
	}
	return &contract.Endpoint{Host: o.text("host"), Port: o.whole("port")}
}
