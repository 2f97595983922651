package rke2_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/requirements"
	"github.com/captf-toolkit/captf/sdk/harness/rke2"
)

// source is how a row cites where it comes from: a section, and the row in it.
var source = regexp.MustCompile(`^control-planes\.md \d+(\.\d+)*( #\d+(\.\d+)?| [A-Za-z].*)?$`)

// cited are the rows of control-planes.md that are data in this package; each
// is the source of something.
var cited = []string{
	"control-planes.md 1 cluster provisioned",
	"control-planes.md 3.1 order of early gates",
	"control-planes.md 3.1 init guard",
	"control-planes.md 3.1 after scale up",
	"control-planes.md 3.1 preflight",
	"control-planes.md 3.1 Machines without Node",
	"control-planes.md 3.1 rollout",
	"control-planes.md 3.1 remediation",
	"control-planes.md 3.1 etcd removal on delete",
	"control-planes.md 3.1 optional pre-drain hook",
	"control-planes.md 3.1 delete RCP",
	"control-planes.md 3.2 controlPlaneInitialized",
	"control-planes.md 3.2 joins",
	"control-planes.md 3.3",
	"control-planes.md 3.4 worker before init",
}

// Every row of the tables cites its source, and blames a requirement that is
// one of this control plane and of the role that the row names.
func TestTablesCiteTheirSources(t *testing.T) {
	plane := rke2.New()
	seen := map[string]bool{}
	cite := func(what, text string) {
		if !source.MatchString(text) {
			t.Errorf("%s cites %q", what, text)
		}
		seen[text] = true
	}
	blame := func(what, id string) requirements.Row {
		row, known := requirements.Get(id)
		if !known || !row.For(plane.Name) {
			t.Errorf("%s blames %q, which is no requirement of %s", what, id, plane.Name)
		}
		return row
	}
	checks := slices.Concat(plane.Gates, plane.Deletion, plane.Bootstrap, plane.PoolBootstrap, []harness.Check{plane.Initialized})
	for _, op := range plane.Operations {
		cite(op.ID, op.Source)
		checks = append(checks, op.Preflight...)
	}
	for _, c := range checks {
		cite(c.ID, c.Source)
		if (c.Output != "") != (c.Requirement != "") {
			t.Errorf("%s names an output or a requirement, but not both", c.ID)
		}
		if c.Requirement == "" {
			continue
		}
		if row := blame(c.ID, c.Requirement); !slices.Contains(row.Roles, c.Role) {
			t.Errorf("%s blames %s, which is none of the %s module's", c.ID, c.Requirement, c.Role)
		}
	}
	for _, s := range slices.Concat(plane.PreDrain, plane.PreTerminate) {
		cite(s.ID, s.Source)
	}
	for _, r := range plane.Registrations {
		cite(r.Name, r.Source)
		if r.Fits != nil {
			blame(r.Name, r.Requirement)
		}
		for _, id := range r.Exempt {
			blame(r.Name, id)
		}
	}
	for _, row := range cited {
		if !seen[row] {
			t.Errorf("nothing cites %s", row)
		}
		delete(seen, row)
	}
	for row := range seen {
		t.Errorf("%s is cited and not in the list of what is", row)
	}
}

// The early gates come in the provider's order.
func TestEarlyGatesAreInOrder(t *testing.T) {
	var ids []string
	for _, g := range rke2.New().Gates {
		ids = append(ids, g.ID)
	}
	want := []string{"rke2/infrastructure-provisioned", "rke2/certificates", "rke2/endpoint-valid", "rke2/kubeconfig"}
	if !slices.Equal(ids, want) {
		t.Errorf("the gates are %v, want %v", ids, want)
	}
}

// Every requirement that is about this control plane alone names it.
func TestRequirementsOfRKE2(t *testing.T) {
	var ids []string
	for _, row := range requirements.All() {
		if row.For(rke2.Name) && !row.For("kcp") {
			ids = append(ids, row.ID)
		}
	}
	want := []string{"CP-016", "CP-017", "CP-019", "CP-032", "CP-041", "CP-043", "CP-044"}
	if !slices.Equal(ids, want) {
		t.Errorf("requirements of RKE2 alone are %v, want %v", ids, want)
	}
}
