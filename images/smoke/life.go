package smoke

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/sdk/module"
)

// lifeModule is where the module lies beside the generated root.
const lifeModule = "./module"

// life applies and destroys a module that needs no provider, in a root as a Job
// has it but for the backend. It returns whether all went well, also when there
// was nothing to do.
func (t *trial) life(ctx context.Context) (bool, error) {
	tree, err := module.Load(t.box.host(image.RootPath), module.Options{})
	if err != nil {
		return false, fmt.Errorf("reading the module: %w", err)
	}
	if requiresProviders(tree) {
		t.note("apply was not tried: the module requires providers, which need credentials")
		return true, nil
	}
	if missing := t.missing(tree); len(missing) > 0 {
		t.note("apply was not tried: give the variables that have no default: %s", strings.Join(missing, ", "))
		return true, nil
	}
	rendered, vs := t.o.Contract.Render(sample(t.o.Role), t.o.Variables, contract.RenderOptions{
		Backend: contract.Backend{Type: "local"}, ModuleSource: lifeModule,
	})
	if len(vs) > 0 {
		return false, fmt.Errorf("rendering the inputs: %w", vs)
	}
	if err := os.RemoveAll(t.box.host(image.RootPath)); err != nil {
		return false, fmt.Errorf("removing the module's copy: %w", err)
	}
	if err := t.copyModule(image.RootPath + "/module"); err != nil {
		return false, err
	}
	for name, content := range map[string][]byte{"main.tf.json": rendered.Root, "terraform.tfvars.json": rendered.Values} {
		if err := os.WriteFile(filepath.Join(t.box.host(image.RootPath), name), content, 0o600); err != nil {
			return false, fmt.Errorf("writing the generated root: %w", err)
		}
	}
	for _, step := range [][]string{
		{"init", "-input=false", "-no-color"},
		{"apply", "-input=false", "-no-color", "-auto-approve"},
	} {
		if _, ok := t.step(ctx, step[0], step[1:]...); !ok {
			return false, nil
		}
	}
	out, ok := t.step(ctx, "output", "-json", "-no-color")
	if ok {
		ok = t.judge(tree, out)
	}
	// What was made is removed, whatever came of it.
	_, destroyed := t.step(ctx, "destroy", "-input=false", "-no-color", "-auto-approve")
	return ok && destroyed, nil
}

// missing lists the user variables without default that were not given.
func (t *trial) missing(tree *module.Tree) []string {
	given := map[string]bool{}
	for _, v := range t.o.Variables {
		given[v.Name] = true
	}
	spec := t.o.Contract.Spec(t.o.Role)
	var out []string
	for _, v := range tree.Primary.Variables {
		if _, input := spec.Input(v.Name); !input && !v.HasDefault && !given[v.Name] {
			out = append(out, v.Name)
		}
	}
	return out
}

// judge decodes the outputs as a controller would.
func (t *trial) judge(tree *module.Tree, out []byte) bool {
	var outputs map[string]struct {
		Value json.RawMessage `json:"value"`
	}
	last := &t.report.Steps[len(t.report.Steps)-1]
	if err := json.Unmarshal(out, &outputs); err != nil {
		last.Error = "its result is no JSON: " + err.Error()
		return false
	}
	values := contract.Values{Outputs: map[string]json.RawMessage{}, Declared: map[string]bool{}}
	for name, o := range outputs {
		values.Outputs[name] = o.Value
	}
	for _, o := range tree.Primary.Outputs {
		values.Declared[o.Name] = true
	}
	_, vs := contract.Decode(t.o.Contract, t.o.Role, values, sample(t.o.Role))
	if blocking := vs.Blocking(); len(blocking) > 0 {
		last.Error = shorten("the outputs break the contract: " + blocking.Error())
		return false
	}
	for _, v := range vs {
		t.note("%s", v)
	}
	return true
}

// sample returns inputs for a first apply of a worker, a pool or a cluster.
func sample(role contract.Role) contract.Inputs {
	const name, namespace = "smoke", "default"
	version := "v1.33.0"
	common := contract.CommonInputs{
		Cluster:  contract.NamespacedName{Name: name, Namespace: namespace},
		Object:   contract.NamespacedName{Name: name + "-" + role.ShortKind(), Namespace: namespace},
		Template: name,
	}
	bootstrap := contract.Bootstrap{Data: []byte("#cloud-config\n"), Format: "cloud-config"}
	switch role {
	case contract.RoleCluster:
		return &contract.ClusterInputs{CommonInputs: common, KubernetesVersion: &version}
	case contract.RoleMachine:
		return &contract.MachineInputs{CommonInputs: common, MachineName: name, Bootstrap: bootstrap, KubernetesVersion: &version}
	default:
		return &contract.PoolInputs{CommonInputs: common, MachinePoolName: name, Replicas: 1, Bootstrap: bootstrap, KubernetesVersion: &version}
	}
}
