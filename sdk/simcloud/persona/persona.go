// Package persona holds what the schemas of cloud providers do not say: tables of
// resource types and data sources of AWS, Google Cloud, Azure, OpenStack and OCI, as
// far as modules for Kubernetes clusters use them.
//
// A row says which change replaces an object, what the provider plans when nothing is
// set, the form of ids, names and addresses, what a scaling group makes, what keeps an
// object from being deleted, and the limits that bite module authors: lengths of names,
// sizes of user data, numbers of tags. Rows are written from the documentation and the
// public sources of the providers; each file names those that it follows.
//
// Not in this package: schemas (sdk/simcloud/schemas), the server (sdk/simcloud), and
// types that are not in the tables, which behave by their schema alone.
package persona

import (
	"maps"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// All returns the personas, sorted by source.
func All() []*simcloud.Persona {
	return []*simcloud.Persona{AWS(), Azure(), Google(), OCI(), OpenStack()}
}

// For returns the persona of a provider by its source address, such as
// hashicorp/aws; nil if there is none.
func For(source string) *simcloud.Persona {
	for _, p := range All() {
		if strings.EqualFold(p.Source, source) {
			return p
		}
	}
	return nil
}

// types are rows of a table.
type types = map[string]simcloud.TypeRule

// values are generators by attribute.
type values = map[string]simcloud.Value

// join puts parts of one table together. A type is in one part only.
func join(parts ...types) types {
	out := types{}
	for _, part := range parts {
		maps.Copy(out, part)
	}
	return out
}

// or gives the first of an attribute's value and what follows from it.
func or(c *simcloud.Context, path, fallback string) string {
	if s := c.Text(path); s != "" {
		return s
	}
	return fallback
}

// list is an attribute as a list of texts.
func list(c *simcloud.Context, path string) []string { return texts(c.Attr(path)) }

func texts(x any) []string {
	var out []string
	elements, _ := x.([]any)
	for _, e := range elements {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// object is a value as an object; a list means its first element.
func object(x any) map[string]any {
	if l, ok := x.([]any); ok && len(l) > 0 {
		x = l[0]
	}
	m, _ := x.(map[string]any)
	return m
}

// objects are the objects in a list.
func objects(x any) []map[string]any {
	var out []map[string]any
	l, _ := x.([]any)
	for _, e := range l {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// filterValues are the values of the filter block with one of the names.
func filterValues(c *simcloud.Context, names ...string) []string {
	for _, f := range objects(c.Attr("filter")) {
		if name, _ := f["name"].(string); slices.Contains(names, name) {
			return texts(f["values"])
		}
	}
	return nil
}

// chain runs hooks one after the other.
func chain(hooks ...simcloud.Hook) simcloud.Hook {
	return func(c *simcloud.Context) error {
		for _, h := range hooks {
			if err := h(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// last is what follows the last separator of a text.
func last(s, separator string) string { return s[strings.LastIndex(s, separator)+1:] }
