package simcloud

import (
	"encoding/json"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"pgregory.net/rapid"
)

// tinyProvider is a provider without a connection.
func tinyProvider(t testing.TB) *provider {
	t.Helper()
	f, err := os.Open("testdata/tiny.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := ReadSchema(f, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &provider{brain: newBrain(s, nil), cloud: NewCloud(Limits{}), gone: make(chan struct{})}
}

// A request that makes no sense gets a diagnostic, never a panic.
func TestMalformedRequests(t *testing.T) {
	p := tinyProvider(t)
	ctx := t.Context()
	values := []*tfprotov6.DynamicValue{nil, {}, {MsgPack: []byte("\xff\x00garbage")}, {JSON: []byte("{")}, {MsgPack: []byte("\xc0")}, {MsgPack: []byte("\x81\xa2id\xc3")}}
	for _, typ := range []string{"tiny_network", "tiny_instance", "tiny_image", "tiny_token", "nothing", ""} {
		for _, a := range values {
			for _, b := range values {
				if r, err := p.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{TypeName: typ, PriorState: a, ProposedNewState: b, Config: b}); err != nil || r == nil {
					t.Fatalf("plan: %v", err)
				}
				if r, err := p.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{TypeName: typ, PriorState: a, PlannedState: b, PlannedPrivate: []byte("{")}); err != nil || r == nil {
					t.Fatalf("apply: %v", err)
				}
			}
			for name, d := range map[string]func() ([]*tfprotov6.Diagnostic, error){
				"read": func() ([]*tfprotov6.Diagnostic, error) {
					r, err := p.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: typ, CurrentState: a, Private: []byte("x")})
					return r.Diagnostics, err
				},
				"data": func() ([]*tfprotov6.Diagnostic, error) {
					r, err := p.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{TypeName: typ, Config: a})
					return r.Diagnostics, err
				},
				"open": func() ([]*tfprotov6.Diagnostic, error) {
					r, err := p.OpenEphemeralResource(ctx, &tfprotov6.OpenEphemeralResourceRequest{TypeName: typ, Config: a})
					return r.Diagnostics, err
				},
				"configure": func() ([]*tfprotov6.Diagnostic, error) {
					r, err := p.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{Config: a})
					return r.Diagnostics, err
				},
				"upgrade": func() ([]*tfprotov6.Diagnostic, error) {
					r, err := p.UpgradeResourceState(ctx, &tfprotov6.UpgradeResourceStateRequest{TypeName: typ, RawState: &tfprotov6.RawState{JSON: []byte("[")}})
					return r.Diagnostics, err
				},
				"import": func() ([]*tfprotov6.Diagnostic, error) {
					r, err := p.ImportResourceState(ctx, &tfprotov6.ImportResourceStateRequest{TypeName: typ, ID: "none"})
					return r.Diagnostics, err
				},
			} {
				got, err := d()
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if typ == "nothing" && name != "configure" && len(got) == 0 {
					t.Errorf("%s of an unknown type says nothing", name)
				}
			}
		}
	}
	if r, err := p.CallFunction(ctx, &tfprotov6.CallFunctionRequest{Name: "shout", Arguments: []*tfprotov6.DynamicValue{{}, {}}}); err != nil || r.Error == nil {
		t.Errorf("a function that is not known: %+v, %v", r, err)
	}
}

// A tiny network's state of 200 bytes of invalid UTF-8 is kept and given back as it is, and saved in a form that can be read.
func TestInvalidUTF8(t *testing.T) {
	p := tinyProvider(t)
	typ := p.brain.schema.Resources["tiny_network"].ValueType()
	attrs := map[string]any{"name": "a\xffb", "id": unknown{}}
	planned, err := encode(typ, attrs)
	if err != nil {
		t.Fatal(err)
	}
	null, err := encode(typ, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: "tiny_network", PriorState: null, PlannedState: planned})
	if err != nil || len(r.Diagnostics) > 0 {
		t.Fatalf("%v, %+v", err, r.Diagnostics)
	}
	got, err := attributesOf(r.NewState, typ)
	if err != nil || got["name"] != "a\xffb" {
		t.Errorf("it came back as %v, %v", got["name"], err)
	}
	file := t.TempDir() + "/cloud.json"
	if err := p.cloud.Save(file); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadCloud(file, Limits{}); err != nil {
		t.Error(err)
	}
}

// types draws types as schemas have them.
func types(depth int) *rapid.Generator[tftypes.Type] {
	return rapid.Custom(func(t *rapid.T) tftypes.Type {
		n := 2
		if depth > 0 {
			n = 6
		}
		switch rapid.IntRange(0, n).Draw(t, "kind") {
		case 0:
			return tftypes.String
		case 1:
			return tftypes.Bool
		case 2:
			return tftypes.Number
		case 3:
			return tftypes.List{ElementType: types(depth-1).Draw(t, "element")}
		case 4:
			return tftypes.Map{ElementType: types(depth-1).Draw(t, "element")}
		case 5:
			return tftypes.Tuple{ElementTypes: rapid.SliceOfN(types(depth-1), 1, 3).Draw(t, "elements")}
		}
		return tftypes.Object{AttributeTypes: rapid.MapOfN(rapid.StringMatching("[a-z]{1,3}"), types(depth-1), 1, 3).Draw(t, "attributes")}
	})
}

// values draws a value of a type, with nulls and unknowns.
func values(t *rapid.T, typ tftypes.Type) tftypes.Value {
	switch rapid.IntRange(0, 9).Draw(t, "how") {
	case 0:
		return tftypes.NewValue(typ, nil)
	case 1:
		return tftypes.NewValue(typ, tftypes.UnknownValue)
	}
	list := func(n int, et func(int) tftypes.Type) []tftypes.Value {
		out := make([]tftypes.Value, 0, n)
		for i := range n {
			out = append(out, values(t, et(i)))
		}
		return out
	}
	switch typ := typ.(type) {
	case tftypes.List:
		return tftypes.NewValue(typ, list(rapid.IntRange(0, 3).Draw(t, "n"), func(int) tftypes.Type { return typ.ElementType }))
	case tftypes.Tuple:
		return tftypes.NewValue(typ, list(len(typ.ElementTypes), func(i int) tftypes.Type { return typ.ElementTypes[i] }))
	case tftypes.Map:
		m := map[string]tftypes.Value{}
		for _, k := range rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "keys") {
			m[k] = values(t, typ.ElementType)
		}
		return tftypes.NewValue(typ, m)
	case tftypes.Object:
		m := map[string]tftypes.Value{}
		for k, at := range typ.AttributeTypes {
			m[k] = values(t, at)
		}
		return tftypes.NewValue(typ, m)
	}
	switch {
	case typ.Is(tftypes.String):
		return tftypes.NewValue(typ, rapid.String().Draw(t, "text"))
	case typ.Is(tftypes.Bool):
		return tftypes.NewValue(typ, rapid.Bool().Draw(t, "bool"))
	}
	n := new(big.Float).SetPrec(512)
	if rapid.Bool().Draw(t, "whole") {
		return tftypes.NewValue(typ, n.SetInt64(rapid.Int64().Draw(t, "number")))
	}
	return tftypes.NewValue(typ, n.SetFloat64(rapid.Float64Range(-1e300, 1e300).Draw(t, "number")))
}

// A value is the same after a way through plain Go, also where its type is open.
func TestPlainProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := types(3).Draw(t, "type")
		v := values(t, typ)
		back, err := typed(typ, plain(v))
		if err != nil {
			t.Fatal(err)
		}
		if !back.Equal(v) {
			t.Fatalf("%s became %s", v, back)
		}
		open := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"x": tftypes.DynamicPseudoType}}
		if !v.IsFullyKnown() {
			return
		}
		kept := plain(tftypes.NewValue(open, map[string]tftypes.Value{"x": v}))
		raw, err := json.Marshal(kept)
		if err != nil {
			t.Fatal(err)
		}
		var read any
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		if err := d.Decode(&read); err != nil {
			t.Fatal(err)
		}
		thawed, err := thaw(read)
		if err != nil {
			t.Fatal(err)
		}
		again, err := typed(open, thawed)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]tftypes.Value
		if err := again.As(&m); err != nil {
			t.Fatal(err)
		}
		if !v.IsNull() && !m["x"].Equal(v) {
			t.Fatalf("%s became %s", v, m["x"])
		}
	})
}

// Generators depend on the object and the label, and addresses are nobody else's.
func TestContext(t *testing.T) {
	c := NewCloud(Limits{})
	c.serial = 1
	seen := map[string]bool{}
	for i, seed := range []string{"a", "b", "c", "d", "e", "f"} {
		ctx := &Context{cloud: c, seed: "same", object: &Object{Key: seed, Type: "x_y", Attributes: map[string]any{"id": "i-1", "n": json.Number("7"), "b": true, "list": []any{map[string]any{"k": "v"}}}}, settings: Settings{Region: "r", Account: "acc"}}
		a := ctx.Address("10.0.0.0/28")
		if i < 5 && (a == "" || seen[a]) || i == 5 && a != "" {
			t.Errorf("address %d of a range with five is %q", i+1, a)
		}
		seen[a] = true
	}
	ctx := &Context{cloud: c, seed: "s", object: &Object{Type: "x_y", Attributes: map[string]any{"id": "i-1", "n": json.Number("7"), "b": true, "list": []any{map[string]any{"k": "v"}}}}, settings: Settings{Region: "r", Account: "acc"}}
	if got, want := Text("{region}/{account}/{attr:id}/{attr:list.0.k}/{attr:list.k}/{other}")(ctx), "r/acc/i-1/v/v/{other}"; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
	if len(ctx.Hex("l", 100)) != 100 || ctx.Hex("l", 100)[:8] != ctx.Hex("l", 8) || ctx.Hex("l", 8) == ctx.Hex("m", 8) {
		t.Error("hex")
	}
	if d := ctx.Digits("l", 12); len(d) != 12 || d[0] == '0' {
		t.Errorf("digits %q", d)
	}
	if u := ctx.UUID("l"); len(u) != 36 || u[14] != '4' || !strings.ContainsRune("89ab", rune(u[19])) {
		t.Errorf("uuid %q", u)
	}
	if ctx.Int("n") != 7 || !ctx.Bool("b") || ctx.Int("id") != 0 || ctx.Attr("list.9.k") != nil || ctx.Address("nonsense") != "" || ctx.Address("10.0.0.0/32") != "" {
		t.Error("attributes")
	}
	ctx.Set("list.k", []string{"x"})
	if d := cmp.Diff([]any{"x"}, ctx.Attr("list.0.k")); d != "" {
		t.Error(d)
	}
}

// The kind of a type that no rule knows follows from its name.
func TestKindByName(t *testing.T) {
	for typ, want := range map[string]Kind{
		"aws_instance": KindInstance, "google_compute_instance": KindInstance, "azurerm_linux_virtual_machine": KindInstance, "openstack_compute_instance_v2": KindInstance,
		"hcloud_server": KindInstance, "digitalocean_droplet": KindInstance, "aws_autoscaling_group": KindGroup, "azurerm_linux_virtual_machine_scale_set": KindGroup,
		"aws_launch_template": KindTemplate, "aws_lb": KindBalancer, "openstack_lb_loadbalancer_v2": KindBalancer, "aws_lb_listener": KindListener, "aws_lb_target_group": KindTarget,
		"aws_lb_target_group_attachment": KindAttachment, "openstack_lb_member_v2": KindAttachment, "aws_vpc": KindNetwork, "aws_subnet": KindSubnet, "google_compute_subnetwork": KindSubnet,
		"aws_security_group": KindFirewall, "openstack_networking_secgroup_rule_v2": KindFirewall, "aws_ami": KindImage, "aws_eip": KindAddress, "aws_route53_record": KindRecord, "random_pet": KindOther,
	} {
		if got := kindByName(typ); got != want {
			t.Errorf("%s is %q, want %q", typ, got, want)
		}
	}
}
