package harness

import (
	"cmp"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/requirements"
)

// Ids of results that are no requirement of a control plane (harness.md H2, H3).
const (
	idContract = "contract/" // followed by the name of an input or output
	idApply    = "module/apply"
	idDestroy  = "module/destroy"
	idStalled  = "module/stalled"
	// idLeftBehind is about what a simulated cloud still holds at the end.
	idLeftBehind = "module/left-behind"
)

// ResultIDs returns every id that a result can have: the requirements of
// control-planes.md 8, the inputs and outputs of the contract, and module runs.
func ResultIDs(def contract.Definition) []string {
	var ids []string
	for _, row := range requirements.All() {
		ids = append(ids, row.ID)
	}
	var names []string
	for _, role := range contract.Roles() {
		spec := def.Spec(role)
		for _, in := range spec.Inputs {
			names = append(names, idContract+in.Name)
		}
		for _, out := range spec.Outputs {
			names = append(names, idContract+out.Name)
		}
	}
	slices.Sort(names)
	return append(append(ids, slices.Compact(names)...), idApply, idDestroy, idStalled, idLeftBehind)
}

// finding is one judgement about a requirement.
type finding struct {
	id       string
	role     contract.Role
	status   Status
	reason   string
	evidence []string
	// remedy is what to do where the requirement's own does not fit; "" leaves that.
	remedy string
	proof  []Proof
}

// recorder collects judgements. Of several about one id a failure wins, and of
// several failures the first is the reason and the others are evidence.
type recorder struct {
	plane          string
	allow          []string
	roles          []contract.Role
	entries        map[string]*finding
	extra          []string
	notes          []Note
	patternNone    bool
	endpointByUser bool
	// exempt are requirements that the chosen registration method does not ask for; the value says why.
	exempt map[string]string
	// noMembership tells that the machine module does not say how its machines become backends.
	noMembership bool
	// seen is the run that is being judged; nil when the judgement is about none.
	seen *sighting
	// module describes a module, clean takes secrets out of a text.
	module func(contract.Role) ModuleInfo
	clean  func(string) string
	// excused are requirements that nobody is blamed for from now on, with the reason.
	excused map[string]string
}

func newRecorder(cfg Config, endpointByUser bool) *recorder {
	r := &recorder{
		plane: cfg.ControlPlane.Name, allow: cfg.Allow, roles: cfg.Modules.Roles(),
		entries: map[string]*finding{}, endpointByUser: endpointByUser,
		noMembership: cfg.Modules.Module(contract.RoleMachine).Membership == nil,
		module:       cfg.Modules.Module, clean: func(text string) string { return text },
	}
	for _, role := range r.roles {
		m := cfg.Modules.Module(role).Membership
		r.patternNone = r.patternNone || m != nil && m.Pattern == PatternNone
	}
	return r
}

// applies tells that the row can be judged in this run; reason says why not.
func (r *recorder) applies(row requirements.Row) (ok bool, reason string) {
	if row.Membership && r.patternNone {
		return false, "the set declares that no module makes a load balancer (pattern C)"
	}
	if row.ID == "CP-001" && r.endpointByUser {
		return false, "the user provides the endpoint"
	}
	if reason := r.exempt[row.ID]; reason != "" {
		return false, reason
	}
	return true, ""
}

func (r *recorder) add(f finding) {
	if row, known := requirements.Get(f.id); known {
		if ok, _ := r.applies(row); !ok {
			return
		}
	}
	if r.seen != nil && len(f.proof) == 0 && f.status != StatusNotApplicable {
		if proof, ok := r.seen.proof(f.id, f.status == StatusFailed, r.module(r.seen.role), r.clean); ok {
			f.proof = []Proof{proof}
		}
	}
	if reason, ok := r.excused[f.id]; ok && f.status == StatusFailed {
		f.status, f.reason, f.evidence = StatusNotApplicable, reason, nil
	}
	old, seen := r.entries[f.id]
	if !seen {
		if _, known := requirements.Get(f.id); !known {
			r.extra = append(r.extra, f.id)
		}
		r.entries[f.id] = &f
		return
	}
	switch {
	case old.status == StatusFailed && f.status == StatusFailed:
		for _, more := range append([]string{f.reason}, f.evidence...) {
			if more != old.reason && !slices.Contains(old.evidence, more) {
				old.evidence = append(old.evidence, more)
			}
		}
		old.addProof(f.proof)
	case old.status == StatusFailed:
		// A failure stays one.
	case f.status == StatusFailed, old.status == StatusNotApplicable:
		*old = f
	case f.status == StatusManual && old.status == StatusPassed:
		old.status, old.reason = StatusManual, f.reason // a part of it is left to a person
	case f.status == StatusPassed:
		for _, e := range f.evidence {
			if !slices.Contains(old.evidence, e) {
				old.evidence = append(old.evidence, e)
			}
		}
		old.addProof(f.proof)
	}
}

// addProof adds what shows something else than what is there, as far as a
// person would read it.
func (f *finding) addProof(more []Proof) {
	for _, m := range more {
		if len(f.proof) < proofs && !slices.ContainsFunc(f.proof, func(p Proof) bool { return p.Object == m.Object && p.Op == m.Op }) {
			f.proof = append(f.proof, m)
		}
	}
}

// excuse blames nobody for a requirement from now on.
func (r *recorder) excuse(id, reason string) {
	if r.excused == nil {
		r.excused = map[string]string{}
	}
	r.excused[id] = reason
}

func (r *recorder) pass(id string, role contract.Role, evidence ...string) {
	r.add(finding{id: id, role: role, status: StatusPassed, evidence: evidence})
}

func (r *recorder) fail(id string, role contract.Role, reason string, evidence ...string) {
	r.add(finding{id: id, role: role, status: StatusFailed, reason: reason, evidence: evidence})
}

// hasFailed tells that the requirement is known to fail.
func (r *recorder) hasFailed(id string) bool {
	f, ok := r.entries[id]
	return ok && f.status == StatusFailed
}

// judge returns pass or fail by a condition; the evidence is that of a pass.
func judge(ok bool, id string, role contract.Role, reason string, evidence ...string) finding {
	if ok {
		return finding{id: id, role: role, status: StatusPassed, evidence: evidence}
	}
	return finding{id: id, role: role, status: StatusFailed, reason: reason}
}

// requirements returns the result of every requirement of the control plane
// and the roles of the set; notReached is the reason for those that were not
// judged because the story ended early.
func (r *recorder) requirements(notReached string) []Requirement {
	var out []Requirement
	for _, id := range r.extra {
		f := r.entries[id]
		out = append(out, r.requirement(*f, requirements.Row{ID: id, Level: requirements.Must, Title: titleOf(id), Remedy: remedyOf(id)}))
	}
	slices.SortFunc(out, func(a, b Requirement) int { return strings.Compare(a.ID, b.ID) })
	for _, row := range requirements.All() {
		role, ours := r.roleOf(row)
		if !ours {
			continue
		}
		f, judged := r.entries[row.ID]
		if !judged {
			f = r.unjudged(row, notReached)
		}
		if f.role == "" {
			f.role = role
		}
		out = append(out, r.requirement(*f, row))
	}
	return out
}

// roleOf returns the first role of the row that the set has.
func (r *recorder) roleOf(row requirements.Row) (contract.Role, bool) {
	if !row.For(r.plane) {
		return "", false
	}
	for _, role := range row.Roles {
		if slices.Contains(r.roles, role) {
			return role, true
		}
	}
	return "", false
}

func (r *recorder) unjudged(row requirements.Row, notReached string) *finding {
	if ok, reason := r.applies(row); !ok {
		return &finding{status: StatusNotApplicable, reason: reason}
	}
	switch {
	case !row.Checked() || row.Question != "":
		return &finding{status: StatusManual, reason: row.Question}
	case notReached != "":
		return &finding{status: StatusNotApplicable, reason: "not reached: " + notReached}
	case row.Membership && r.noMembership && slices.Contains(row.Roles, contract.RoleMachine):
		return &finding{status: StatusNotApplicable, reason: "the module does not tell how its machines become backends: declare it in captf-harness.json"}
	}
	return &finding{status: StatusNotApplicable, reason: "the scenario does not come to it"}
}

func (r *recorder) requirement(f finding, row requirements.Row) Requirement {
	q := Requirement{
		ID: row.ID, Role: f.role, Status: f.status, Level: string(row.Level), Title: row.Title,
		Reason: f.reason, Evidence: f.evidence, Proof: f.proof,
	}
	if f.status == StatusFailed {
		q.Remedy = cmp.Or(f.remedy, row.Remedy)
		if slices.Contains(r.allow, row.ID) {
			q.Status, q.Reason = StatusNotApplicable, "allowed: "+f.reason
		}
	}
	return q
}

func titleOf(id string) string {
	if name, ok := strings.CutPrefix(id, idContract); ok {
		return "satisfy the contract for " + name
	}
	return map[string]string{
		idApply:      "apply with every input that the contract allows",
		idDestroy:    "destroy what was applied",
		idStalled:    "let the cluster reach what the user asks for",
		idLeftBehind: "leave nothing in the cloud once everything is destroyed",
	}[id]
}

func remedyOf(id string) string {
	if name, ok := strings.CutPrefix(id, idContract); ok {
		return "see " + name + " in the contract reference, and lint the module with tfcapi-lint"
	}
	return map[string]string{
		idApply:      "see the runtime's message; run the module with the inputs of the kept directory (--keep)",
		idDestroy:    "see the runtime's message; destroy must not need anything that may be gone",
		idStalled:    "see which gate waits for what",
		idLeftBehind: "let everything that an apply makes be a resource in the state, so that destroy removes it: nothing made by provisioners, by other resources' side effects, or kept by skip_destroy and the like",
	}[id]
}
