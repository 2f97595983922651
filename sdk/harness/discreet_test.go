package harness

import (
	"testing"

	"github.com/captf-toolkit/captf/contract"
)

func TestCleanKeepsWhatTheHarnessSays(t *testing.T) {
	d := &discreet{}
	d.keep("demo", "demo-md-1")
	for _, s := range []string{"a", "demo", "demo-md-1", "point", "point-of-1", "sensitive", "running", "a-long-secret-value"} {
		d.note(s)
	}
	for text, want := range map[string]string{
		"control_plane_endpoint of TerraformMachine/demo-md-1": "control_plane_endpoint of TerraformMachine/demo-md-1",
		"Cluster/demo is running":                              "Cluster/demo is running",
		`host "a" is bad`:                                      `host (sensitive) is bad`,
		`at point-of-1, point, points`:                         `at (sensitive), (sensitive), points`,
		"x-a-long-secret-values":                               "x-(sensitive)s",
		"point sensitive":                                      "(sensitive) (sensitive)",
	} {
		if got := d.clean(text); got != want {
			t.Errorf("clean(%q) is %q, want %q", text, got, want)
		}
	}
}

// A module may hand the user's secret on unmarked, as nonsensitive() does.
func TestGuardHidesTheUsersSecrets(t *testing.T) {
	d := &discreet{modules: secretModules{}}
	d.guard()
	for text, want := range map[string]string{
		"health: pw hunter2-Super-99 is set":       "health: pw (sensitive) is set",
		"b64 aHVudGVyMi1TdXBlci05OQ==":             "b64 (sensitive)",
		"the key inner-secret-value of the object": "the key (sensitive) of the object",
		`short "zq7" and zq7 in zq7x`:              `short (sensitive) and zq7 in zq7x`,
	} {
		if got := d.clean(text); got != want {
			t.Errorf("clean(%q) is %q, want %q", text, got, want)
		}
	}
}

type secretModules struct{ Modules }

func (secretModules) Roles() []contract.Role { return []contract.Role{contract.RoleMachine} }

func (secretModules) Module(contract.Role) ModuleInfo {
	return ModuleInfo{Secrets: []string{"hunter2-Super-99", "zq7", `{"key": "inner-secret-value"}`}}
}
