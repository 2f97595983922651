package balancer

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestTypesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, typ := range Types() {
		if seen[typ.Name] {
			t.Errorf("%s has two rows", typ.Name)
		}
		seen[typ.Name] = true
		if !strings.Contains(typ.Source, typ.Name) || strings.Count(typ.Cloud, "/") != 1 {
			t.Errorf("%s has the source %q and the cloud %q", typ.Name, typ.Source, typ.Cloud)
		}
		bare := Type{Name: typ.Name, Cloud: typ.Cloud, Source: typ.Source}
		if reflect.DeepEqual(typ, bare) {
			t.Errorf("%s says nothing", typ.Name)
		}
		if a := typ.Attachment; a != nil && (a.Pool == "" || a.Target == "") {
			t.Errorf("%s attaches to %q what %q names", typ.Name, a.Pool, a.Target)
		}
		if f := typ.Firewall; f != nil && (f.Group == "" || f.From == "" && f.Ranges == nil || f.Protocol == "" && f.Blocks == nil) {
			t.Errorf("%s has rules without a group, ports or a protocol", typ.Name)
		}
		if h := typ.Health; h != nil && (h.Interval == "" || h.Healthy == "" && h.DefaultHealthy == 0) {
			t.Errorf("%s checks health at no known interval", typ.Name)
		}
		if g := typ.Group; g != nil && (g.Rolls == "") != g.Never {
			t.Errorf("%s rolls by %q", typ.Name, g.Rolls)
		}
	}
	if TypeOf("terraform_data") != nil || Attaches("aws_lb") || MakesEndpoint("aws_instance") {
		t.Error("types are taken for what they are not")
	}
}

// Each of the five clouds of the reference sets has what a set needs.
func TestEveryCloudIsComplete(t *testing.T) {
	parts := map[string]func(*Type) bool{
		"frontend":     func(t *Type) bool { return t.Frontend != nil },
		"listener":     func(t *Type) bool { return t.Listener != nil },
		"pool":         func(t *Type) bool { return t.Pool != nil },
		"attachment":   func(t *Type) bool { return t.Attachment != nil },
		"health check": func(t *Type) bool { return t.Health != nil },
		"firewall":     func(t *Type) bool { return t.Firewall != nil },
		"instance":     func(t *Type) bool { return t.Instance },
	}
	for _, cloud := range []string{aws, gcp, azurerm, oci, osc} {
		for part, is := range parts {
			if !slices.ContainsFunc(Types(), func(t Type) bool { return t.Cloud == cloud && is(&t) }) {
				t.Errorf("%s has no %s", cloud, part)
			}
		}
	}
}
