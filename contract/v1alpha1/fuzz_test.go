package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/fixtures"
	"github.com/captf-toolkit/captf/contract/v1alpha1"
)

// FuzzDecodeOutputs decodes anything as the outputs of any role: no panic, and
// an output is decoded or has a violation that says why not.
func FuzzDecodeOutputs(f *testing.F) {
	all, err := cases()
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range all {
		if c.Side != fixtures.Outputs {
			continue
		}
		for name, raw := range c.Value {
			f.Add(string(c.Role), name, []byte(raw))
		}
	}
	d := v1alpha1.Definition()
	f.Fuzz(func(t *testing.T, roleName, name string, raw []byte) {
		role, err := contract.ParseRole(roleName)
		if err != nil {
			t.Skip()
		}
		values := fixture(t, role, "typical")
		values.Outputs[name] = raw
		out, vs := contract.Decode(d, role, values, nil)
		if c := vs.OutputsValid(); c.Reason == "" || len(c.Message) > 32768 {
			t.Errorf("condition %+v", c)
		}
		if got := vs.Has(contract.RuleMore); len(vs) > 25 {
			t.Errorf("%d violations, cut is %t", len(vs), got)
		}
		_, known := d.Spec(role).Output(name)
		if !known && len(vs) > 0 {
			t.Errorf("an output outside the contract is judged: %v", vs)
		}
		if len(vs.Blocking()) > 0 || len(vs.With(contract.ReasonPending)) > 0 {
			if out.Provisioned(true, vs) {
				t.Error("an object with problems is provisioned")
			}
		}
		if cluster, ok := out.(*contract.ClusterOutputs); ok && len(vs.Blocking()) == 0 {
			machine := validInputs()
			machine.ClusterOutputs = cluster.Exports
			if _, vs := d.InputValues(machine); len(vs) > 0 {
				t.Errorf("valid exports cannot be handed on: %v", vs)
			}
		}
	})
}

func validInputs() *contract.MachineInputs {
	return &contract.MachineInputs{
		CommonInputs: contract.CommonInputs{
			Cluster: contract.NamespacedName{Name: "prod", Namespace: "fleet"},
			Object:  contract.NamespacedName{Name: "m", Namespace: "fleet"},
		},
		MachineName: "m",
	}
}

// FuzzRender renders a machine from anything: no panic, and what is rendered
// is JSON that reads back as what went in.
func FuzzRender(f *testing.F) {
	f.Add("prod", "m", "zone-a", "cloud-config", []byte("#cloud-config"), []byte(`{"a":1}`), "../../module")
	f.Add("", "\xff", "\u2028", "ignition", []byte{0x1f, 0x8b}, []byte(`null`), "./${x}")
	f.Add("a", "<&>", "\"\\", "", []byte{}, []byte(`[1e5]`), "http://x")
	d := v1alpha1.Definition()
	f.Fuzz(func(t *testing.T, cluster, name, domain, format string, data, exports []byte, source string) {
		in := validInputs()
		in.Cluster.Name, in.MachineName, in.FailureDomain = cluster, name, &domain
		in.Bootstrap = contract.Bootstrap{Data: data, Format: format}
		in.ClusterOutputs = exports
		out, vs := d.Render(in, nil, contract.RenderOptions{ModuleSource: source})
		if (out == nil) != (len(vs) > 0) {
			t.Fatalf("rendered %v with violations %v", out, vs)
		}
		if out == nil {
			return
		}
		if !json.Valid(out.Root) || !json.Valid(out.Values) {
			t.Fatalf("the files are no JSON:\n%s\n%s", out.Root, out.Values)
		}
		values, _, vs := d.ReadRendered(contract.RoleMachine, out.Root, out.Values)
		if len(vs) > 0 {
			t.Fatal(vs)
		}
		back, vs := d.DecodeInputs(contract.RoleMachine, values)
		if len(vs) > 0 {
			t.Fatal(vs)
		}
		want := *in
		if want.Bootstrap.Format == "" {
			want.Bootstrap.Format = "cloud-config"
		}
		got := back.(*contract.MachineInputs)
		want.ClusterOutputs = got.ClusterOutputs
		if diff := cmp.Diff(&want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("inputs (-in +read):\n%s", diff)
		}
	})
}

// FuzzVariables merges and renders anything as user variables: no panic, and
// what merges renders, hashes and reads back.
func FuzzVariables(f *testing.F) {
	f.Add("disk", []byte("40"), "String", true, []byte(`{"zones":["a"]}`))
	f.Add("disk", []byte(`{"gb":40}`), "JSON", false, []byte(`{"disk":1}`))
	f.Add("captf_x", []byte("\xff"), "", true, []byte(`{"ratio":1.5}`))
	f.Add("source", []byte("1e5"), "YAML", true, []byte(`[]`))
	d := v1alpha1.Definition()
	spec := d.Spec(contract.RoleMachine)
	f.Fuzz(func(t *testing.T, key string, value []byte, format string, secret bool, inline []byte) {
		own, vs := contract.InlineVariables(inline)
		if len(vs) > 0 {
			if _, failed := vs.VariablesReady(); !failed {
				t.Fatalf("violations without a condition: %v", vs)
			}
			own = nil
		}
		merged, vs := contract.MergeVariables(spec, []contract.VariableSource{{
			Name: "Secret/s", Format: contract.VariableFormat(format), Secret: secret, Found: true,
			Data: map[string][]byte{key: value},
		}}, own)
		if len(vs) > 0 {
			if merged != nil {
				t.Fatal("merged in spite of violations")
			}
			return
		}
		out, vs := d.Render(validInputs(), merged, contract.RenderOptions{})
		if len(vs) > 0 {
			if !vs.Has(contract.RuleSize) {
				t.Fatalf("merged variables do not render: %v", vs)
			}
			return
		}
		_, vars, vs := d.ReadRendered(contract.RoleMachine, out.Root, out.Values)
		if len(vs) > 0 || len(vars) != len(merged) {
			t.Fatalf("%d variables read back as %d: %v", len(merged), len(vars), vs)
		}
		for i, v := range vars {
			if v.Name != merged[i].Name || v.Sensitive != merged[i].Sensitive {
				t.Errorf("variable %+v reads back as %+v", merged[i], v)
			}
		}
	})
}
