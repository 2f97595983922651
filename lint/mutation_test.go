package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint"
)

// goodDir holds a module of each role in which nothing is found.
func goodDir(role contract.Role) string { return filepath.Join("testdata", "good", string(role)) }

func TestGoodModulesAreClean(t *testing.T) {
	for _, role := range contract.Roles() {
		if got := ids(run(t, goodDir(role), role)); len(got) > 0 {
			t.Errorf("%s: %v", role, got)
		}
	}
}

// edit replaces text in a file of a module.
type edit struct{ file, old, new string }

// mutations are edits of good modules and all that they make fire. Those that
// hold for every input or output are made by TestMutatedInputs and
// TestMutatedOutputs.
var mutations = []struct {
	name  string
	role  contract.Role
	edits []edit
	want  []string
}{
	{"health without a state", contract.RoleCluster, []edit{{old: `    state   = "running"` + "\n", new: ""}}, []string{"error output/shape"}},
	{"health with another word", contract.RoleMachine, []edit{{old: `"running"`, new: `"Running"`}}, []string{"error output/shape"}},
	{"health always pending", contract.RoleMachine, []edit{{old: `"running"`, new: `"pending"`}}, []string{"error output/shape"}},
	{"health pending at first", contract.RoleMachine, []edit{{old: `"running"`, new: `terraform_data.instance.id == "" ? "pending" : "running"`}}, nil},
	{"health as a text", contract.RoleMachine, []edit{{old: "value = local.health", new: `value = "running"`}}, []string{"error output/shape"}},
	{"health as null", contract.RoleMachine, []edit{{old: "value = local.health", new: `value = null`}}, []string{"error output/shape"}},
	{"healthy as a text", contract.RoleMachinePool, []edit{{old: "healthy = true", new: `healthy = "true"`}}, []string{"error output/shape"}},
	{"state of one member", contract.RoleMachinePool, []edit{{old: `state = "running"` + "\n    }\n  ]", new: `state = "up"` + "\n    }\n  ]"}}, []string{"info output/shape"}},
	{"addresses as texts", contract.RoleMachine, []edit{{old: "    {\n      type    = \"InternalIP\"\n      address = terraform_data.instance.output.address\n    },", new: `"10.0.0.1"`}}, []string{"error output/shape"}},
	{"one address, not a list", contract.RoleMachine, []edit{{old: "  value = [\n", new: "  value = {\n"}, {old: "    {\n      type    = \"InternalIP\"", new: "      type = \"InternalIP\""}, {old: "    },\n  ]", new: "  }"}}, []string{"error output/shape"}},
	{"type of an address", contract.RoleMachine, []edit{{old: "InternalIP", new: "PrivateIP"}}, []string{"error output/shape"}},
	{"address missing", contract.RoleMachine, []edit{{old: "      address = terraform_data.instance.output.address\n", new: ""}}, []string{"error output/shape"}},
	{"empty address", contract.RoleMachine, []edit{{old: "address = terraform_data.instance.output.address", new: `address = ""`}}, []string{"error output/limits"}},
	{"interruptible as a number", contract.RoleMachine, []edit{{old: "value = false", new: "value = 0"}}, []string{"error output/shape"}},
	{"provider id as a list", contract.RoleMachine, []edit{{old: `value = "example:///${terraform_data.instance.id}"`, new: `value = ["example:///${terraform_data.instance.id}"]`}}, []string{"error output/shape"}},
	{"provider id never known", contract.RoleMachine, []edit{{old: `value = "example:///${terraform_data.instance.id}"`, new: `value = null`}}, []string{"error output/shape"}},
	{"replicas as a text", contract.RoleMachinePool, []edit{{old: "output \"replicas\" {\n  value = terraform_data.desired.output", new: "output \"replicas\" {\n  value = tostring(terraform_data.desired.output)"}}, []string{"error output/shape"}},
	{"port as a text", contract.RoleCluster, []edit{{old: "port = 6443", new: `port = "6443"`}}, []string{"info output/shape"}},
	{"port out of range on every branch", contract.RoleCluster, []edit{{old: "var.control_plane_endpoint != null ? var.control_plane_endpoint : local.own_endpoint", new: "local.own_endpoint"}, {old: "port = 6443", new: "port = 66443"}}, []string{"error output/limits"}},
	{"port out of range on a branch", contract.RoleCluster, []edit{{old: "port = 6443", new: "port = 66443"}}, []string{"info output/limits"}},
	{"endpoint never set", contract.RoleCluster, []edit{{old: "var.control_plane_endpoint != null ? var.control_plane_endpoint : local.own_endpoint", new: "null"}}, []string{"warning output/endpoint-never-set"}},
	{"failure domain without a name", contract.RoleCluster, []edit{{old: "name = zone, ", new: ""}}, []string{"info output/shape"}},
	{"fraction in exports", contract.RoleCluster, []edit{{old: "weight  = 10", new: "weight  = 1.5"}}, []string{"error output/exports-number"}},
	{"credential in exports", contract.RoleCluster, []edit{{old: "weight  = 10", new: `password = "x"`}}, []string{"info output/exports-secret"}},
	{"sensitive variable in exports", contract.RoleCluster, []edit{
		{old: "weight  = 10", new: "weight  = var.join"},
		{old: "locals {", new: "variable \"join\" {\n  type      = string\n  default   = \"\"\n  sensitive = true\n}\n\nlocals {"},
	}, []string{"info output/exports-secret", "info output/sensitive"}},
	{"unprotected endpoint", contract.RoleCluster, []edit{{old: "\n  lifecycle {\n    prevent_destroy = true\n  }\n", new: ""}}, []string{"info cluster/endpoint-protect"}},
	{"tags not used", contract.RoleCluster, []edit{{old: "    tags    = var.captf_tags\n", new: ""}}, []string{"warning input/tags-unused"}},
	{"tags not used by the called module", contract.RoleMachine, []edit{{file: "tags/main.tf", old: "var.tags :", new: "{ a = 1 } :"}}, []string{"warning input/tags-unused"}},
	{"sensitive output", contract.RoleMachine, []edit{{old: "    reasons = []", new: "    message = sha256(var.bootstrap_data)"}}, []string{"info output/sensitive"}},
	{"failure domain not used", contract.RoleMachine, []edit{{old: "    domain  = var.failure_domain\n", new: ""}, {old: "value = var.failure_domain", new: "value = null"}}, []string{"info input/unused"}},
	{"version not used", contract.RoleMachine, []edit{{old: "    version = var.kubernetes_version\n", new: ""}}, []string{"info input/unused"}},
	{"labels not used", contract.RoleMachinePool, []edit{{old: "    labels    = var.node_labels\n", new: ""}}, []string{"info input/unused"}},
	{"no list of members", contract.RoleMachinePool, []edit{{old: `output "provider_id_list"`, new: `output "members"`}}, []string{"error output/provider-id-list-shape"}},
	{"members not sorted", contract.RoleMachinePool, []edit{{old: "sort([for", new: "distinct([for"}}, []string{"warning output/provider-id-list-shape"}},
	{"members filtered by health", contract.RoleMachinePool, []edit{{old: `member.state != "terminated"`, new: `member.state == "running"`}}, []string{"warning output/provider-id-list-shape"}},
	{"scaler undone", contract.RoleMachinePool, []edit{{old: "\n  lifecycle {\n    ignore_changes = [input]\n  }\n", new: ""}}, []string{"warning pool/autoscaling-ignore-changes"}},
	{"rotation replaces", contract.RoleMachinePool, []edit{{old: "triggers_replace = var.kubernetes_version", new: "triggers_replace = [var.kubernetes_version, var.bootstrap_data]"}}, []string{"info pool/bootstrap-replace"}},
	{"backend", contract.RoleMachine, []edit{{old: "  required_version", new: "  backend \"local\" {}\n  required_version"}}, []string{"error module/backend"}},
	{"backend in the called module", contract.RoleMachine, []edit{{file: "tags/main.tf", old: "output \"", new: "terraform {\n  backend \"s3\" {}\n}\n\noutput \""}}, []string{"error module/backend"}},
	{"cloud", contract.RoleCluster, []edit{{old: "  required_version", new: "  cloud {\n    organization = \"x\"\n  }\n  required_version"}}, []string{"error module/cloud"}},
	{"no version", contract.RoleCluster, []edit{{old: "  required_version = \">= 1.5\"\n", new: ""}}, []string{"info module/version"}},
	{"version too old for the syntax", contract.RoleCluster, []edit{
		{old: ">= 1.5", new: ">= 1.2"},
		{old: "type    = list(string)", new: "type    = object({ a = optional(string) })"}, {old: `["a", "b"]`, new: "null"},
	}, []string{"info module/syntax-floor"}},
	{"provider without an entry", contract.RoleCluster, []edit{{old: "locals {", new: "resource \"null_resource\" \"x\" {}\n\nlocals {"}}, []string{"info module/provider-pin"}},
	{"credential in a provider", contract.RoleCluster, []edit{{old: "locals {", new: "provider \"terraform\" {\n  token = \"x\"\n}\n\nlocals {"}}, []string{"warning module/provider-config"}},
	{"call out of the module", contract.RoleMachine, []edit{{old: `"./tags"`, new: `"../../tags"`}}, []string{"error module/source-escape"}},
	{"remote call", contract.RoleMachine, []edit{{old: `"./tags"`, new: `"example/tags/null"`}}, []string{"info module/remote-source"}},
	{"timestamp", contract.RoleMachine, []edit{{old: "name    = var.machine_name", new: "name    = timestamp()"}}, []string{"info module/nondeterministic"}},
	{"reserved variable", contract.RoleMachine, []edit{{old: `"disk_gib"`, new: `"captf_disk_gib"`}, {old: "var.disk_gib", new: "var.captf_disk_gib"}}, []string{"error input/reserved"}},
	{"reserved output", contract.RoleMachine, []edit{{old: `output "health"`, new: "output \"captf_x\" {\n  value = 1\n}\n\noutput \"health\""}}, []string{"warning output/reserved"}},
	{"variable of another role", contract.RoleMachine, []edit{{old: `"disk_gib"`, new: `"replicas"`}, {old: "var.disk_gib", new: "var.replicas"}}, []string{"info input/user-variable-name"}},
	{"user variable without default", contract.RoleMachine, []edit{{old: "  default = 20\n", new: ""}}, []string{"warning input/user-variable-default"}},
	{"payload not sensitive", contract.RoleMachinePool, []edit{{old: "  sensitive = true\n", new: ""}}, []string{"warning input/sensitive"}},
	{"ephemeral output", contract.RoleMachine, []edit{
		{old: "value = false", new: "value     = false\n  ephemeral = true"}, {old: ">= 1.5", new: ">= 1.11"},
	}, []string{"error module/ephemeral"}},
	{"another output for OpenTofu", contract.RoleMachine, []edit{{file: "x_override.tofu", new: "output \"interruptible\" {\n  value = true\n}\n"}}, []string{"warning module/tofu-shadow"}},
	{"tolerated variable", contract.RoleCluster, []edit{{old: "locals {", new: "variable \"captf_cluster_outputs\" {\n  type    = any\n  default = null\n}\n\nlocals {"}}, nil},
	{"tolerated variable without default", contract.RoleCluster, []edit{{old: "locals {", new: "variable \"captf_cluster_outputs\" {\n  type = any\n}\n\nlocals {"}}, []string{"error input/reserved"}},
	{"comment that allows", contract.RoleMachine, []edit{{old: "variable \"disk_gib\" {", new: "# tfcapi-lint:ignore input/user-variable-default every template sets it\nvariable \"disk_gib\" {"}, {old: "  default = 20\n", new: ""}}, []string{"info input/user-variable-default"}},
	{"comment without use", contract.RoleMachine, []edit{{old: "variable \"disk_gib\" {", new: "# tfcapi-lint:ignore input/user-variable-default every template sets it\nvariable \"disk_gib\" {"}}, []string{"warning lint/suppression"}},
}

func TestMutations(t *testing.T) {
	for _, m := range mutations {
		t.Run(string(m.role)+"/"+strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
			dir := copyGood(t, m.role)
			for _, e := range m.edits {
				apply(t, dir, e)
			}
			expect(t, dir, m.role, m.want)
		})
	}
}

// TestMutatedInputs mutates the declaration of every contract input, from the tables.
func TestMutatedInputs(t *testing.T) {
	for _, role := range contract.Roles() {
		for _, in := range versions.Default().Spec(role).Inputs {
			required := "error input/required"
			if in.Name == "captf_tags" {
				required = "error input/tags-declared"
			}
			onVariable := func(change func(*hclwrite.Body)) func(*hclwrite.File) {
				return func(f *hclwrite.File) { change(f.Body().FirstMatchingBlock("variable", []string{in.Name}).Body()) }
			}
			kinds := []struct {
				name   string
				change func(*hclwrite.File)
				want   []string
			}{
				{"dropped", func(f *hclwrite.File) {
					f.Body().RemoveBlock(f.Body().FirstMatchingBlock("variable", []string{in.Name}))
				}, []string{required}},
				{"renamed", func(f *hclwrite.File) {
					f.Body().FirstMatchingBlock("variable", []string{in.Name}).SetLabels([]string{"x_" + in.Name})
					renameReferences(f, in.Name, "x_"+in.Name)
				}, renamed(in, required)},
				{"untyped", onVariable(func(b *hclwrite.Body) { b.RemoveAttribute("type") }), []string{"warning input/type"}},
				{"of another type", onVariable(func(b *hclwrite.Body) {
					b.SetAttributeRaw("type", rawTokens("tuple([string])"))
				}), wrongType(in)},
				{"not nullable", onVariable(func(b *hclwrite.Body) {
					b.RemoveAttribute("default")
					b.SetAttributeValue("nullable", cty.False)
				}), notNullable(in)},
				{"with a default", onVariable(func(b *hclwrite.Body) {
					b.SetAttributeRaw("type", rawTokens("any"))
					b.SetAttributeValue("default", cty.StringVal("x"))
				}), withDefault(in)},
			}
			for _, k := range kinds {
				t.Run(fmt.Sprintf("%s/%s/%s", role, in.Name, strings.ReplaceAll(k.name, " ", "-")), func(t *testing.T) {
					dir := copyGood(t, role)
					rewrite(t, dir, k.change)
					expect(t, dir, role, k.want)
				})
			}
		}
	}
}

// renameReferences renames a variable in every expression of a file.
func renameReferences(f *hclwrite.File, from, to string) {
	var body func(*hclwrite.Body)
	body = func(b *hclwrite.Body) {
		for _, a := range b.Attributes() {
			a.Expr().RenameVariablePrefix([]string{"var", from}, []string{"var", to})
		}
		for _, inner := range b.Blocks() {
			body(inner.Body())
		}
	}
	body(f.Body())
}

func renamed(in contract.Input, required string) []string {
	want := []string{required}
	if !in.MayDefault {
		want = append(want, "warning input/user-variable-default")
	}
	return want
}

func wrongType(in contract.Input) []string {
	if in.Shape.Kind == contract.KindAny {
		return []string{"warning input/type"}
	}
	return []string{"error input/type"}
}

func notNullable(in contract.Input) []string {
	if in.Shape.Nullable {
		return []string{"error input/nullable"}
	}
	return nil
}

func withDefault(contract.Input) []string { return []string{"warning input/default"} }

// TestMutatedOutputs mutates every contract output, from the tables.
func TestMutatedOutputs(t *testing.T) {
	own := map[string]string{"health": "error output/health", "provider_id_list": "error output/provider-id-list-shape"}
	for _, role := range contract.Roles() {
		for _, out := range versions.Default().Spec(role).Outputs {
			missing := own[out.Name]
			if missing == "" {
				missing = "error output/required"
			}
			kinds := []struct {
				name   string
				change func(*hclwrite.File)
				want   []string
			}{
				{"dropped", func(f *hclwrite.File) {
					f.Body().RemoveBlock(f.Body().FirstMatchingBlock("output", []string{out.Name}))
				}, []string{missing}},
				{"renamed", func(f *hclwrite.File) {
					f.Body().FirstMatchingBlock("output", []string{out.Name}).SetLabels([]string{out.Name + "s_"})
				}, []string{missing}},
				{"wrapped in a tuple", func(f *hclwrite.File) {
					b := f.Body().FirstMatchingBlock("output", []string{out.Name}).Body()
					b.SetAttributeRaw("value", hclwrite.TokensForTuple([]hclwrite.Tokens{b.GetAttribute("value").Expr().BuildTokens(nil)}))
				}, wrapped(out)},
			}
			for _, k := range kinds {
				t.Run(fmt.Sprintf("%s/%s/%s", role, out.Name, strings.ReplaceAll(k.name, " ", "-")), func(t *testing.T) {
					dir := copyGood(t, role)
					rewrite(t, dir, k.change)
					expect(t, dir, role, k.want)
				})
			}
		}
	}
}

func wrapped(out contract.Output) []string {
	switch {
	case out.Shape.Kind == contract.KindAny:
		return nil
	case out.Name == "provider_id_list": // a tuple around sort() is not sorted itself
		return []string{"error output/shape", "warning output/provider-id-list-shape"}
	}
	return []string{"error output/shape"}
}

func copyGood(t *testing.T, role contract.Role) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), string(role))
	if err := os.CopyFS(dir, os.DirFS(goodDir(role))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func apply(t *testing.T, dir string, e edit) {
	t.Helper()
	path := filepath.Join(dir, "main.tf")
	if e.file != "" {
		path = filepath.Join(dir, filepath.FromSlash(e.file))
	}
	if e.old == "" {
		writeFile(t, path, e.new)
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), e.old); n != 1 {
		t.Fatalf("%q stands %d times in %s", e.old, n, path)
	}
	writeFile(t, path, strings.Replace(string(text), e.old, e.new, 1))
}

func rewrite(t *testing.T, dir string, change func(*hclwrite.File)) {
	t.Helper()
	path := filepath.Join(dir, "main.tf")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, diags := hclwrite.ParseConfig(text, path, hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	change(f)
	writeFile(t, path, string(f.Bytes()))
}

func rawTokens(expr string) hclwrite.Tokens {
	return hclwrite.Tokens{{Type: hclsyntax.TokenIdent, Bytes: []byte(expr)}}
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// expect compares the checks that fire, each once, with their severity.
func expect(t *testing.T, dir string, role contract.Role, want []string) {
	t.Helper()
	report := run(t, dir, role)
	got := ids(report)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("checks that fire (-want +got):\n%s%+v", diff, report.Findings)
	}
}

// ids returns the severities and checks of a report, each once, sorted.
func ids(r *lint.Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, string(f.Severity)+" "+f.ID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
