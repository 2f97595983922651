package contract_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
)

func TestCheckVariableName(t *testing.T) {
	d := versions.Default()
	ok := map[contract.Role][]string{
		contract.RoleCluster:     {"disk", "_", "A-b_9", "machine_name", "bootstrap_data", "replicas", "sources", "captf", "local"},
		contract.RoleMachine:     {"disk", "replicas", "control_plane_endpoint", "machinepool_name"},
		contract.RoleMachinePool: {"disk", "machine_name", "control_plane"},
	}
	bad := map[contract.Role][]string{
		contract.RoleCluster:     {"", "1a", "-a", "a.b", "a b", "ä", "a\n", "captf_", "captf_tags", "captf_cluster_outputs", "control_plane_endpoint", "cluster_network"},
		contract.RoleMachine:     {"machine_name", "bootstrap_data", "kubernetes_version", "captf_cluster_outputs"},
		contract.RoleMachinePool: {"replicas", "node_labels", "autoscaling"},
	}
	for _, role := range contract.Roles() {
		spec := d.Spec(role)
		for _, name := range ok[role] {
			if v := contract.CheckVariableName(spec, name); v != nil {
				t.Errorf("%s: %v", role, v)
			}
		}
		for _, name := range append(bad[role], contract.MetaArguments()...) {
			v := contract.CheckVariableName(spec, name)
			if v == nil || v.Rule != contract.RuleName || v.Reason != contract.ReasonInvalid || v.Message == "" {
				t.Errorf("%s: %q is accepted: %v", role, name, v)
			}
		}
	}
}

func TestMergeVariables(t *testing.T) {
	spec := versions.Default().Spec(contract.RoleMachine)
	data := func(pairs ...string) map[string][]byte {
		m := map[string][]byte{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = []byte(pairs[i+1])
		}
		return m
	}
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	tests := []struct {
		name    string
		sources []contract.VariableSource
		inline  map[string]json.RawMessage
		want    []contract.Variable
		vs      []string
		reason  string
	}{
		{name: "nothing"},
		{
			name: "strings stay strings",
			sources: []contract.VariableSource{
				{Name: "ConfigMap/a", Found: true, Data: data("disk", "40", "text", "a\n\"<b>", "empty", "")},
			},
			want: []contract.Variable{
				{Name: "disk", Value: raw(`"40"`)}, {Name: "empty", Value: raw(`""`)}, {Name: "text", Value: raw(`"a\n\"<b>"`)},
			},
		},
		{
			name: "JSON",
			sources: []contract.VariableSource{
				{Name: "ConfigMap/a", Found: true, Format: contract.FormatJSON, Data: data("disk", "40", "zones", `["a"]`, "none", "null")},
			},
			want: []contract.Variable{
				{Name: "disk", Value: raw(`40`)}, {Name: "none", Value: raw(`null`)}, {Name: "zones", Value: raw(`["a"]`)},
			},
		},
		{
			name: "later wins, inline wins over all, the winner decides on secrecy",
			sources: []contract.VariableSource{
				{Name: "Secret/a", Found: true, Secret: true, Data: data("a", "1", "b", "1", "c", "1", "d", "1")},
				{Name: "ConfigMap/b", Found: true, Format: contract.FormatString, Data: data("b", "2", "c", "2")},
				{Name: "Secret/c", Found: true, Secret: true, Data: data("c", "3")},
			},
			inline: map[string]json.RawMessage{"d": raw(`4`)},
			want: []contract.Variable{
				{Name: "a", Value: raw(`"1"`), Sensitive: true}, {Name: "b", Value: raw(`"2"`)},
				{Name: "c", Value: raw(`"3"`), Sensitive: true}, {Name: "d", Value: raw(`4`)},
			},
		},
		{
			name: "optional source that is absent",
			sources: []contract.VariableSource{
				{Name: "Secret/a", Optional: true, Secret: true, Data: data("a", "1")},
			},
			inline: map[string]json.RawMessage{"b": raw(`true`)},
			want:   []contract.Variable{{Name: "b", Value: raw(`true`)}},
		},
		{
			name: "optional source that is there",
			sources: []contract.VariableSource{
				{Name: "Secret/a", Optional: true, Found: true, Secret: true, Data: data("a", "1")},
			},
			want: []contract.Variable{{Name: "a", Value: raw(`"1"`), Sensitive: true}},
		},
		{
			name:    "source that is absent",
			sources: []contract.VariableSource{{Name: "Secret/a"}, {Name: "Secret/b", Found: true, Data: data("1x", "1")}},
			vs:      []string{"variablesFrom[0] source", `variablesFrom[1]["1x"] name`},
			reason:  "VariablesSourceNotFound",
		},
		{
			name: "bad names and values",
			sources: []contract.VariableSource{
				{Name: "ConfigMap/a", Found: true, Data: data("machine_name", "x", "bytes", "\xff\xfe")},
				{Name: "ConfigMap/b", Found: true, Format: contract.FormatJSON, Data: data("broken", "{", "ratio", `[1.5]`)},
				{Name: "ConfigMap/c", Found: true, Format: "YAML", Data: data("a", "b")},
			},
			inline: map[string]json.RawMessage{"count": raw(`1`), "size": raw(`{"gb":1e3}`)},
			vs: []string{
				"variables.count name", "variables.size.gb integer",
				"variablesFrom[0].bytes utf8", "variablesFrom[0].machine_name name",
				"variablesFrom[1].broken json", "variablesFrom[1].ratio[0] integer", "variablesFrom[2] source",
			},
			reason: "VariablesInvalid",
		},
		{
			name:    "too many sources",
			sources: make([]contract.VariableSource, 17),
			vs: func() (all []string) {
				for i := range 17 {
					all = append(all, fmt.Sprintf("variablesFrom[%d] source", i))
				}
				return append(all, "variablesFrom maxItems")
			}(),
			reason: "VariablesSourceNotFound",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, vs := contract.MergeVariables(spec, tt.sources, tt.inline)
			if diff := cmp.Diff(tt.want, got); diff != "" && (len(tt.want) > 0 || len(got) > 0) {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
			var found []string
			for _, v := range vs {
				found = append(found, v.Path+" "+v.Rule)
			}
			if diff := cmp.Diff(tt.vs, found); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
			c, failed := vs.VariablesReady()
			if failed != (len(tt.vs) > 0) || c.Reason != tt.reason {
				t.Errorf("condition %+v, want %s", c, tt.reason)
			}
		})
	}
}

// TestMergeKeepsSecrets checks that values never get into messages.
func TestMergeKeepsSecrets(t *testing.T) {
	const secret = "hunter2hunter2"
	spec := versions.Default().Spec(contract.RoleCluster)
	for _, format := range []contract.VariableFormat{contract.FormatString, contract.FormatJSON} {
		for _, value := range []string{secret, secret + "\xff", `{"` + secret + `": 1.5`, `{"` + secret + `": 1.5}`, `{"` + secret + `": 1, "` + secret + `": 1}`, `"` + secret} {
			_, vs := contract.MergeVariables(spec, []contract.VariableSource{{
				Name: "Secret/a", Secret: true, Found: true, Format: format, Data: map[string][]byte{"token": []byte(value)},
			}}, nil)
			for _, v := range vs {
				if strings.Contains(v.String(), secret) {
					t.Errorf("format %s: the message tells the value %q: %s", format, value, v.Message)
				}
			}
		}
	}
}

func TestInlineVariables(t *testing.T) {
	keys := func(n int) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(`"k%d":%d`, i, i))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	for _, tt := range []struct {
		name, text string
		count      int
		rule       string
	}{
		{"absent", "", 0, ""},
		{"null", "null", 0, ""},
		{"one", `{"a": {"b": 1}}`, 1, ""},
		{"most", keys(256), 256, ""},
		{"too many", keys(257), 0, contract.RuleMaxItems},
		{"empty", `{}`, 0, contract.RuleMinItems},
		{"list", `[1]`, 0, contract.RuleType},
		{"twice", `{"a":1,"a":2}`, 0, contract.RuleDuplicate},
		{"broken", `{"a"`, 0, contract.RuleJSON},
	} {
		got, vs := contract.InlineVariables(json.RawMessage(tt.text))
		if len(got) != tt.count {
			t.Errorf("%s: %d variables", tt.name, len(got))
		}
		if tt.rule == "" && len(vs) > 0 || tt.rule != "" && !vs.Has(tt.rule) {
			t.Errorf("%s: %v, want %s", tt.name, vs, tt.rule)
		}
	}
}
