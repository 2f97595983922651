package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
)

// request is what a case of testdata/render asks for.
type request struct {
	Doc       string                     `json:"doc"`
	Role      contract.Role              `json:"role"`
	Inputs    map[string]json.RawMessage `json:"inputs"`
	Variables []struct {
		Name      string          `json:"name"`
		Value     json.RawMessage `json:"value"`
		Sensitive bool            `json:"sensitive"`
	} `json:"variables"`
	Backend struct {
		Type   string         `json:"type"`
		Config map[string]any `json:"config"`
	} `json:"backend"`
	ModuleSource string `json:"moduleSource"`
}

func (r request) variables() []contract.Variable {
	var vars []contract.Variable
	for _, v := range r.Variables {
		vars = append(vars, contract.Variable{Name: v.Name, Value: v.Value, Sensitive: v.Sensitive})
	}
	return vars
}

func (r request) options() contract.RenderOptions {
	return contract.RenderOptions{
		Backend:      contract.Backend{Type: r.Backend.Type, Config: r.Backend.Config},
		ModuleSource: r.ModuleSource,
	}
}

func readRequest(t testing.TB, dir string) request {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "request.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r request
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRenderGolden renders every case and compares the files, the bytes that
// are hashed, and the hashes. A changed hash needs a new scheme (B-346).
func TestRenderGolden(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "render", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("there are no cases: %v", err)
	}
	d := Definition().(*definition)
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			r := readRequest(t, dir)
			in, vs := d.DecodeInputs(r.Role, r.Inputs)
			if len(vs) > 0 {
				t.Fatalf("decoding the inputs: %v", vs)
			}
			out, vs := d.Render(in, r.variables(), r.options())
			if len(vs) > 0 {
				t.Fatalf("rendering: %v", vs)
			}
			golden.Assert(t, filepath.Join(dir, "main.tf.json"), out.Root)
			golden.Assert(t, filepath.Join(dir, "terraform.tfvars.json"), out.Values)
			golden.Assert(t, filepath.Join(dir, "hashes.txt"), []byte("inputs "+out.Hash+"\napproval "+out.ApprovalHash+"\n"))

			bytes := hashedBytes(t, d, in, r.variables())
			golden.Assert(t, filepath.Join(dir, "preimage.json"), bytes)
			sum := sha256.Sum256(bytes)
			if want := "h2:" + hex.EncodeToString(sum[:]); out.Hash != want {
				t.Errorf("hash is %s, the preimage gives %s", out.Hash, want)
			}

			plain, vs := d.Hash(r.Role, r.Inputs, r.variables())
			if len(vs) > 0 || plain.Inputs != out.Hash || plain.Approval != out.ApprovalHash {
				t.Errorf("hashing plain data gives %+v %v, rendering gave %s and %s", plain, vs, out.Hash, out.ApprovalHash)
			}
		})
	}
}

// hashedBytes returns the preimage of the inputs hash.
func hashedBytes(t *testing.T, d *definition, in contract.Inputs, vars []contract.Variable) []byte {
	t.Helper()
	spec := d.specs[in.Role()]
	tree, vs := values(in)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	inputs, vs := canonical("inputs", tree)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	for _, row := range spec.Inputs {
		if row.UnhashedIf != "" && flagAt(tree, row.UnhashedIf) {
			delete(inputs, row.Name)
		}
	}
	user, vs := contract.ParseVariables(spec, vars)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	canon, vs := canonical("variables", user)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	return preimage(spec.Role, inputs, canon, sensitiveNames(vars))
}

func TestApprovalHash(t *testing.T) {
	d := Definition()
	hashOf := func(name string) contract.Hashes {
		r := readRequest(t, filepath.Join("testdata", "render", name))
		h, vs := d.Hash(r.Role, r.Inputs, r.variables())
		if len(vs) > 0 {
			t.Fatal(vs)
		}
		return h
	}
	before, after := hashOf("pool"), hashOf("pool-rotated")
	if before.Inputs == after.Inputs {
		t.Error("a rotated payload keeps the inputs hash")
	}
	if before.Approval != after.Approval {
		t.Error("a rotated payload changes the approval hash")
	}
	if before.Approval == before.Inputs {
		t.Error("the approval hash of a pool covers the payload")
	}
	if h := hashOf("machine"); h.Inputs != h.Approval {
		t.Error("the hashes of a machine differ")
	}
}

// common are valid common inputs.
func common(name string) contract.CommonInputs {
	return contract.CommonInputs{
		Cluster: contract.NamespacedName{Name: "prod", Namespace: "fleet"},
		Object:  contract.NamespacedName{Name: name, Namespace: "fleet"},
	}
}

func validMachine() *contract.MachineInputs {
	return &contract.MachineInputs{CommonInputs: common("m"), MachineName: "m", Bootstrap: contract.Bootstrap{Data: []byte("x")}}
}

// TestRenderSettles checks what a typed value may leave open.
func TestRenderSettles(t *testing.T) {
	d := Definition()
	pool := &contract.PoolInputs{CommonInputs: common("p"), MachinePoolName: "p", ClusterOutputs: json.RawMessage("null")}
	values, vs := d.InputValues(pool)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	want := map[string]string{
		"bootstrap_data": `""`, "bootstrap_format": `"cloud-config"`, "captf_cluster_outputs": `{}`,
		"failure_domains": `[]`, "cluster_failure_domains": `[]`, "node_labels": `{}`,
		"kubernetes_version": `null`, "replicas": `0`, "autoscaling": `{"enabled":false,"max":0,"min":0}`,
	}
	for name, text := range want {
		if string(values[name]) != text {
			t.Errorf("%s is rendered as %s, want %s", name, values[name], text)
		}
	}
	machine := validMachine()
	machine.Bootstrap.Data = []byte{0x1f, 0x8b, 0xff, 0x00}
	machine.ClusterOutputs = json.RawMessage(` { "b" : 1, "a" : [ ] } `)
	values, vs = d.InputValues(machine)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	if got := string(values["bootstrap_data"]); got != `"H4v/AA=="` {
		t.Errorf("bytes that are no text are rendered as %s", got)
	}
	if got := string(values["captf_cluster_outputs"]); got != `{"a":[],"b":1}` {
		t.Errorf("exports are rendered as %s", got)
	}
}

func TestRenderRefuses(t *testing.T) {
	bad := "\xff"
	type wanted struct{ Path, Rule string }
	tests := []struct {
		name string
		in   contract.Inputs
		vars []contract.Variable
		opts contract.RenderOptions
		want []wanted
	}{
		{name: "no inputs", want: []wanted{{"inputs", "role"}}},
		{name: "nil machine", in: (*contract.MachineInputs)(nil), want: []wanted{{"inputs", "role"}}},
		{name: "nil cluster", in: (*contract.ClusterInputs)(nil), want: []wanted{{"inputs", "role"}}},
		{name: "nil pool", in: (*contract.PoolInputs)(nil), want: []wanted{{"inputs", "role"}}},
		{name: "empty machine", in: &contract.MachineInputs{}, want: []wanted{
			{"inputs.captf_cluster.name", "minLength"},
			{"inputs.captf_cluster.namespace", "minLength"},
			{"inputs.captf_object.name", "minLength"},
			{"inputs.captf_object.namespace", "minLength"},
			{`inputs.captf_tags["captf.io/cluster"]`, "minLength"},
			{`inputs.captf_tags["captf.io/name"]`, "minLength"},
			{`inputs.captf_tags["captf.io/namespace"]`, "minLength"},
			{"inputs.machine_name", "minLength"},
		}},
		{name: "half endpoint", in: &contract.ClusterInputs{
			CommonInputs: common("c"), ControlPlaneEndpoint: &contract.Endpoint{Host: "h"},
		}, want: []wanted{{"inputs.control_plane_endpoint.port", "minimum"}}},
		{name: "exports that are no JSON", in: func() contract.Inputs {
			in := validMachine()
			in.ClusterOutputs = json.RawMessage(`{"a":`)
			return in
		}(), want: []wanted{{"inputs.captf_cluster_outputs.a", "json"}}},
		{name: "exports with a fraction", in: func() contract.Inputs {
			in := validMachine()
			in.ClusterOutputs = json.RawMessage(`{"a":[1,1.5]}`)
			return in
		}(), want: []wanted{{"inputs.captf_cluster_outputs.a[1]", "integer"}}},
		{name: "unknown format", in: func() contract.Inputs {
			in := validMachine()
			in.Bootstrap.Format = "butane"
			return in
		}(), want: []wanted{{"inputs.bootstrap_format", "enum"}}},
		{name: "text that is not UTF-8", in: func() contract.Inputs {
			in := validMachine()
			in.FailureDomain = &bad
			return in
		}(), want: []wanted{{"inputs.failure_domain", "utf8"}}},
		{name: "label key that is not UTF-8", in: &contract.PoolInputs{
			CommonInputs: common("p"), MachinePoolName: "p", NodeLabels: map[string]string{bad: "x"},
		}, want: []wanted{{"inputs.node_labels", "utf8"}}},
		{name: "negative size", in: &contract.PoolInputs{
			CommonInputs: common("p"), MachinePoolName: "p", Replicas: -1,
		}, want: []wanted{{"inputs.replicas", "minimum"}}},
		{name: "variables", in: validMachine(), vars: []contract.Variable{
			{Name: "machine_name", Value: json.RawMessage(`1`)},
			{Name: "captf_x", Value: json.RawMessage(`1`)},
			{Name: "count", Value: json.RawMessage(`1`)},
			{Name: "1a", Value: json.RawMessage(`1`)},
			{Name: "ratio", Value: json.RawMessage(`{"a":1e3}`)},
			{Name: "twice", Value: json.RawMessage(`1`)},
			{Name: "twice", Value: json.RawMessage(`2`)},
			{Name: "broken", Value: json.RawMessage(`{`)},
			{Name: "none"},
		}, want: []wanted{
			{"variables.broken", "json"},
			{"variables.captf_x", "name"},
			{"variables.count", "name"},
			{"variables.machine_name", "name"},
			{"variables.none", "json"},
			{"variables.ratio.a", "integer"},
			{"variables.twice", "duplicate"},
			{`variables["1a"]`, "name"},
		}},
		{name: "module on the network", in: validMachine(), opts: contract.RenderOptions{ModuleSource: "example.com/m"},
			want: []wanted{{"options.moduleSource", "option"}}},
		{name: "module path with a template", in: validMachine(), opts: contract.RenderOptions{ModuleSource: "./${x}"},
			want: []wanted{{"options.moduleSource", "option"}}},
		{name: "backend that is no JSON", in: validMachine(), opts: contract.RenderOptions{
			Backend: contract.Backend{Type: "local", Config: map[string]any{"path": func() {}}},
		}, want: []wanted{{"options.backend", "option"}}},
		{name: "backend with a template", in: validMachine(), opts: contract.RenderOptions{
			Backend: contract.Backend{Type: "local", Config: map[string]any{"a": []any{map[string]any{"b": "%{x}"}}}},
		}, want: []wanted{{"options.backend", "option"}}},
		{name: "too large", in: func() contract.Inputs {
			in := validMachine()
			in.Bootstrap.Data = make([]byte, 750_000)
			return in
		}(), want: []wanted{{"inputs", "size"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, vs := Definition().Render(tt.in, tt.vars, tt.opts)
			if out != nil {
				t.Errorf("something is rendered:\n%s", out.Root)
			}
			var got []wanted
			for _, v := range vs {
				got = append(got, wanted{v.Path, v.Rule})
				if v.Message == "" {
					t.Errorf("%s has no message", v.Path)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRenderSizeLimit renders to exactly the limit, and to one byte more.
func TestRenderSizeLimit(t *testing.T) {
	render := func(pad int) (*contract.Rendered, contract.Violations) {
		value, _ := json.Marshal(strings.Repeat("x", pad))
		return Definition().Render(validMachine(), []contract.Variable{{Name: "pad", Value: value}}, contract.RenderOptions{})
	}
	small, vs := render(0)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	room := 1_000_000 - small.Size()
	full, vs := render(room)
	if len(vs) > 0 || full.Size() != 1_000_000 {
		t.Errorf("at the limit: %v", vs)
	}
	if over, vs := render(room + 1); over != nil || !vs.Has(contract.RuleSize) {
		t.Errorf("one byte beyond the limit: %v", vs)
	}
}

// TestRenderKeepsSecrets checks that no violation tells a secret.
func TestRenderKeepsSecrets(t *testing.T) {
	const secret = "hunter2hunter2"
	in := validMachine()
	in.MachineName = ""
	_, vs := Definition().Render(in, []contract.Variable{
		{Name: "token", Value: json.RawMessage(`"` + secret), Sensitive: true},
		{Name: "key", Value: json.RawMessage(`{"` + secret + `":1.5}`), Sensitive: true},
	}, contract.RenderOptions{})
	vs = append(vs, Definition().ValidateInputs(contract.RoleMachine, map[string]json.RawMessage{
		"bootstrap_data": json.RawMessage(`"` + secret + `!"`),
	})...)
	if len(vs) < 3 {
		t.Fatalf("only %d violations", len(vs))
	}
	for _, v := range vs {
		if strings.Contains(v.String(), secret) {
			t.Errorf("the message at %s tells the secret", v.Path)
		}
	}
}

func TestRenderRestore(t *testing.T) {
	d := Definition()
	out, vs := d.RenderRestore(contract.RenderOptions{})
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	golden.Assert(t, filepath.Join("testdata", "restore", "main.tf.json"), out.Root)
	golden.Assert(t, filepath.Join("testdata", "restore", "terraform.tfvars.json"), out.Values)
	if out.Hash != "" || out.ApprovalHash != "" {
		t.Errorf("a restore has the hashes %s and %s (B-413)", out.Hash, out.ApprovalHash)
	}
	bad := contract.RenderOptions{Backend: contract.Backend{Config: map[string]any{"address": "${x}"}}}
	if out, vs := d.RenderRestore(bad); out != nil || !vs.Has(contract.RuleOption) {
		t.Errorf("a backend with a template renders: %v", vs)
	}
}

func TestReadRendered(t *testing.T) {
	d := Definition()
	for _, name := range []string{"cluster-variables", "machine-text", "pool"} {
		t.Run(name, func(t *testing.T) {
			r := readRequest(t, filepath.Join("testdata", "render", name))
			in, vs := d.DecodeInputs(r.Role, r.Inputs)
			if len(vs) > 0 {
				t.Fatal(vs)
			}
			out, vs := d.Render(in, r.variables(), r.options())
			if len(vs) > 0 {
				t.Fatal(vs)
			}
			inputs, vars, vs := d.ReadRendered(r.Role, out.Root, out.Values)
			if len(vs) > 0 {
				t.Fatal(vs)
			}
			again, vs := d.Hash(r.Role, inputs, vars)
			if len(vs) > 0 || again.Inputs != out.Hash {
				t.Errorf("the record hashes to %s %v, not to %s", again.Inputs, vs, out.Hash)
			}
			back, vs := d.DecodeInputs(r.Role, inputs)
			if len(vs) > 0 {
				t.Fatal(vs)
			}
			if diff := cmp.Diff(in, back, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("inputs (-rendered +read):\n%s", diff)
			}
		})
	}
}

func TestReadRenderedRefuses(t *testing.T) {
	d := Definition()
	tests := []struct{ name, role, root, values, rule string }{
		{"role", "router", `{}`, `{}`, contract.RuleRole},
		{"root", "machine", `{`, `{}`, contract.RuleJSON},
		{"values", "machine", `{}`, ``, contract.RuleJSON},
		{"no objects", "machine", `{}`, `[]`, contract.RuleType},
		{"fraction", "machine", `{}`, `{"x":1.5}`, contract.RuleInteger},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inputs, vars, vs := d.ReadRendered(contract.Role(tt.role), []byte(tt.root), []byte(tt.values))
			if inputs != nil || vars != nil || len(vs) != 1 || vs[0].Rule != tt.rule {
				t.Errorf("got %v, %v, %v", inputs, vars, vs)
			}
		})
	}
}

func TestHashRefuses(t *testing.T) {
	d := Definition()
	if _, vs := d.Hash("router", nil, nil); !vs.Has(contract.RuleRole) {
		t.Errorf("unknown role: %v", vs)
	}
	inputs := map[string]json.RawMessage{"a": json.RawMessage(`1.5`), "b": json.RawMessage(`{`)}
	h, vs := d.Hash(contract.RoleMachine, inputs, []contract.Variable{{Name: "c", Value: json.RawMessage(`1e2`)}})
	if h != (contract.Hashes{}) || len(vs) != 3 {
		t.Errorf("unhashable values: %v, %v", h, vs)
	}
}

// TestHashOfOlderRecord hashes inputs that the tables do not know.
func TestHashOfOlderRecord(t *testing.T) {
	h, vs := Definition().Hash(contract.RoleMachine, map[string]json.RawMessage{"retired": json.RawMessage(`{"b":1,"a":-0}`)}, nil)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	const bytes = `{"contract":"v1alpha1","inputs":{"retired":{"a":0,"b":1}},"role":"machine","scheme":"h2"}`
	sum := sha256.Sum256([]byte(bytes))
	if want := "h2:" + hex.EncodeToString(sum[:]); h.Inputs != want {
		t.Errorf("hash is %s, want %s", h.Inputs, want)
	}
}

func TestDecodeInputsRefuses(t *testing.T) {
	in, vs := Definition().DecodeInputs(contract.RoleMachine, nil)
	if in != nil || len(vs.With(contract.ReasonMissing)) != len(Definition().Spec(contract.RoleMachine).Inputs) {
		t.Errorf("no values decode to %v, %v", in, vs)
	}
	if _, vs := Definition().DecodeInputs("router", nil); !vs.Has(contract.RuleRole) {
		t.Errorf("an unknown role decodes: %v", vs)
	}
	vs = Definition().ValidateInputs(contract.RoleMachine, map[string]json.RawMessage{"machine_name": json.RawMessage(`"`)})
	if len(vs.Under("inputs.machine_name")) != 1 {
		t.Errorf("a broken value is reported more than once: %v", vs)
	}
}
