package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
)

// Bounds of what a proof shows.
const (
	proofLines = 12
	proofRunes = 300
	proofs     = 3
)

// shown says what of a run a person needs to follow a judgement.
type shown struct {
	// outputs are the outputs that are judged.
	outputs []string
	// plan tells that the plan is, state that the state is.
	plan, state bool
}

// shownFor is what is shown for a requirement; what is not listed shows the
// plan when it fails, and nothing when it holds. contract/OUTPUT shows the output.
var shownFor = map[string]shown{
	"CP-001": {outputs: []string{"control_plane_endpoint"}},
	"CP-002": {outputs: []string{"control_plane_endpoint"}, plan: true},
	"CP-003": {outputs: []string{"control_plane_endpoint"}},
	"CP-004": {outputs: []string{"control_plane_endpoint"}},
	"CP-006": {outputs: []string{"health"}},
	"CP-007": {plan: true},
	"CP-009": {plan: true},
	"CP-010": {outputs: []string{"exports"}},
	"CP-011": {outputs: []string{"exports"}},
	"CP-012": {outputs: []string{"exports"}},
	"CP-013": {outputs: []string{"failure_domains"}},
	"CP-014": {outputs: []string{"failure_domains"}},
	"CP-015": {plan: true, state: true},
	"CP-016": {plan: true, state: true},
	"CP-017": {plan: true, state: true},
	"CP-022": {plan: true, state: true},
	"CP-026": {state: true},
	"CP-030": {plan: true, state: true},
	"CP-031": {plan: true, state: true},
	"CP-032": {plan: true, state: true},
	"CP-035": {plan: true},
	"CP-036": {plan: true},
	"CP-040": {outputs: []string{"provider_id"}},
	"CP-042": {outputs: []string{"addresses"}},
	"CP-043": {outputs: []string{"addresses"}},
	"CP-045": {outputs: []string{"failure_domain"}},
	"CP-046": {outputs: []string{"failure_domain"}},
	"CP-054": {outputs: []string{"health", "provider_id"}},
	"CP-055": {outputs: []string{"health", "provider_id"}},
	"CP-058": {plan: true, state: true},
	"CP-060": {state: true},
	"CP-061": {plan: true},
	"CP-062": {plan: true},
	"CP-063": {outputs: []string{"provider_id_list", "replicas"}},
	"CP-064": {outputs: []string{"health", "replicas"}},
	"CP-070": {outputs: []string{"exports"}},
}

// sighting is a run on which judgements are made.
type sighting struct {
	role   contract.Role
	object string
	probe  string
	at     float64
	op     Op
	run    *Run
}

// proof returns what the run shows of a judgement; ok is false when that is nothing.
func (s *sighting) proof(id string, failed bool, info ModuleInfo, keep func(string) string) (Proof, bool) {
	if s == nil || s.run == nil {
		return Proof{}, false
	}
	what, known := shownFor[id]
	if name, isContract := strings.CutPrefix(id, idContract); isContract {
		what = shown{outputs: []string{name}}
	} else if !known && failed {
		what.plan = true
	}
	out := Proof{Object: s.role.Kind() + "/" + s.object, Op: s.op, Probe: s.probe, At: s.at}
	if what.plan {
		for _, c := range s.run.Changes {
			if len(out.Changes) == proofLines {
				out.More++
				continue
			}
			out.Changes = append(out.Changes, PlannedChange{Address: keep(c.Address), Action: c.Action})
		}
	}
	if what.state {
		for _, r := range s.run.Resources {
			if len(out.State) == proofLines {
				out.More++
				continue
			}
			out.State = append(out.State, keep(r.Address))
		}
	}
	for _, name := range what.outputs {
		raw, ok := s.run.Values.Outputs[name]
		if !ok && !s.run.Values.Declared[name] {
			continue
		}
		value := hidden
		if !info.Sensitive[name] {
			value = keep(outputText(name, raw))
		}
		out.Outputs = append(out.Outputs, OutputValue{Name: name, Value: value, Place: info.Outputs[name]})
	}
	return out, len(out.Changes)+len(out.Outputs)+len(out.State) > 0
}

// outputText is an output as a person reads it. Exports may hold what is
// nobody's business, so only their names are shown.
func outputText(name string, raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	if name == "exports" {
		var doc map[string]json.RawMessage
		if err := json.Unmarshal(raw, &doc); err != nil {
			return "(no object)"
		}
		names := make([]string, 0, len(doc))
		for key := range doc {
			names = append(names, key)
		}
		slices.Sort(names)
		return cut("names: " + strings.Join(names, ", "))
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return "(no JSON)"
	}
	return cut(b.String())
}

// cut bounds a text.
func cut(s string) string {
	runes := []rune(s)
	if len(runes) <= proofRunes {
		return s
	}
	return fmt.Sprintf("%s… (%d characters)", string(runes[:proofRunes]), len(runes))
}
