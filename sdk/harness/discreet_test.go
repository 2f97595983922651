package harness

import "testing"

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
