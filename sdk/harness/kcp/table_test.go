package kcp_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
	"github.com/captf-toolkit/captf/sdk/harness/requirements"
)

// sources are the sections that rows of the table may come from, with the number
// of rows that are numbered there (0: none are).
var sources = map[string]int{
	"control-planes.md 2.1": 16, "control-planes.md 2.2": 3, "control-planes.md 2.3": 0, "control-planes.md 2.4": 0, "control-planes.md 2.5": 7,
	"control-planes.md 2.6": 0, "control-planes.md 2.7": 0, "control-planes.md 2.9": 0, "control-planes.md 2.10": 0,
}

var sourceForm = regexp.MustCompile(`^(control-planes\.md \d+(?:\.\d+)?)(?: #(\d+))?$`)

// Every gate, operation and stage says which row of control-planes.md it is.
func TestRowsCiteTheirSource(t *testing.T) {
	cp := kcp.New()
	check := func(what, source string) {
		m := sourceForm.FindStringSubmatch(source)
		if m == nil {
			t.Errorf("%s: the source %q is no row of control-planes.md", what, source)
			return
		}
		rows, known := sources[m[1]]
		n := 0
		if m[2] != "" {
			if _, err := fmt.Sscan(m[2], &n); err != nil {
				t.Fatal(err)
			}
		}
		if !known || n > rows {
			t.Errorf("%s: control-planes.md has no %s", what, source)
		}
	}
	for _, g := range harness.Gates(cp) {
		if strings.HasPrefix(g.ID, "kcp/") || strings.HasPrefix(g.ID, "cabpk/") {
			check(g.ID, g.Source)
		} else if g.Source == "" {
			t.Errorf("%s has no source", g.ID)
		}
	}
	for _, op := range cp.Operations {
		check(op.ID, op.Source)
	}
	for _, s := range slices.Concat(cp.PreDrain, cp.PreTerminate) {
		check(s.ID, s.Source)
	}
}

// What control-planes.md 9.1 asks each scenario to assert is asserted, and no
// scenario asserts what is no requirement of this control plane.
func TestScenariosAreThoseOfTheSheet(t *testing.T) {
	sheet := map[string]string{
		"K1": "001 003 006 007 009 030 040 045", "K2": "030 035 014", "K3": "", "K4": "035 036 057", "K5": "", "K6": "", "K7": "", "K8": "038 039",
		"K9": "", "K10": "025 037", "K11": "002", "K12": "", "K13": "", "K14": "", "K15": "", "K16": "", "K17": "", "K18": "",
	}
	// Variants of a row are scenarios of their own.
	variants := []string{"K3-machine-first", "K7-annotated", "K8-no-node", "K18-never"}
	asserts := map[string][]string{}
	for _, s := range kcp.New().Scenarios {
		asserts[s.ID] = s.Asserts
		for _, id := range s.Asserts {
			row, known := requirements.Get(id)
			if !known || !row.For(kcp.Name) {
				t.Errorf("%s asserts %s, which is no requirement of %s", s.ID, id, kcp.Name)
			}
		}
		base, _, _ := strings.Cut(s.ID, "-")
		if _, isRow := sheet[base]; isRow && s.Source != "control-planes.md 9.1 "+base {
			t.Errorf("%s comes from %q", s.ID, s.Source)
		}
		if _, isRow := sheet[s.ID]; !isRow && strings.HasPrefix(s.ID, "K") && !slices.Contains(variants, s.ID) {
			t.Errorf("%s is no row of control-planes.md 9.1", s.ID)
		}
	}
	for id, want := range sheet {
		have, there := asserts[id]
		if !there {
			t.Errorf("there is no scenario %s", id)
		}
		for n := range strings.FieldsSeq(want) {
			if !slices.Contains(have, "CP-"+n) {
				t.Errorf("%s does not assert CP-%s", id, n)
			}
		}
	}
	for _, id := range variants {
		if _, there := asserts[id]; !there {
			t.Errorf("there is no scenario %s", id)
		}
	}
}
