// Package reference writes the reference page of the module contract from its
// tables.
//
// Not in this package: guides for module authors, which are written by hand.
package reference

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/captf-toolkit/captf/contract"
)

//go:embed page.md.tmpl image.md.tmpl
var files embed.FS

// Page returns the reference page of a contract version as Markdown.
func Page(d contract.Definition) ([]byte, error) {
	page, err := template.New("page.md.tmpl").Funcs(template.FuncMap{
		"cell":       cell,
		"code":       code,
		"yes":        yes,
		"null":       nullMeaning,
		"default":    declaredDefault,
		"hashed":     hashed,
		"places":     places,
		"join":       joinCodes,
		"wait":       waits,
		"interval":   interval,
		"size":       amount,
		"afterApply": afterApply,
	}).ParseFS(files, "page.md.tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := page.Execute(&b, newData(d)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// data is what the template ranges over.
type data struct {
	Version       string
	Common        []contract.Input
	Roles         []roleData
	Health        []healthData
	Reasons       []reasonData
	NullRules     []nullData
	Limits        []contract.Limit
	Changes       []contract.Change
	MetaArguments []string
	Names         []nameData
	MaxDepth      int
}

type roleData struct {
	Role      contract.Role
	Kind      string
	ShortKind string
	Inputs    []contract.Input
	Tolerated []contract.Input
	Outputs   []contract.Output
	Cadence   contract.Cadence
}

type healthData struct {
	State, Healthy string
	Condition      contract.Condition
	Remediation    bool
}

type reasonData struct {
	Reason    contract.Reason
	Condition contract.Condition
}

type nullData struct {
	Role   contract.Role
	Output contract.Output
}

type nameData struct{ What, Pattern, Example string }

func newData(d contract.Definition) data {
	out := data{
		Version: d.Version(), Limits: d.Limits(), Changes: d.Changes(),
		MetaArguments: contract.MetaArguments(), MaxDepth: contract.MaxDepth,
	}
	for _, role := range contract.Roles() {
		spec := d.Spec(role)
		r := roleData{
			Role: role, Kind: role.Kind(), ShortKind: role.ShortKind(), Tolerated: spec.Tolerated,
			Outputs: spec.Outputs, Cadence: contract.CadenceOf(role),
		}
		for _, in := range spec.Inputs {
			if !in.Common {
				r.Inputs = append(r.Inputs, in)
			}
		}
		out.Roles = append(out.Roles, r)
		for _, row := range spec.Outputs {
			if !row.Common || role == contract.RoleCluster {
				out.NullRules = append(out.NullRules, nullData{role, row})
			}
		}
	}
	// The machine has every common input; the cluster lacks the exports.
	for _, in := range d.Spec(contract.RoleMachine).Inputs {
		if in.Common {
			in.Shape = anyKind(in.Shape)
			out.Common = append(out.Common, in)
		}
	}
	out.Health = healthRows()
	for _, reason := range contract.Reasons() {
		out.Reasons = append(out.Reasons, reasonData{reason, contract.Violations{{Reason: reason}}.OutputsValid()})
	}
	out.Names = names()
	return out
}

// anyKind returns the shape with the machine's kind replaced by all kinds: the
// page states common inputs once, and only the kind differs between the roles.
func anyKind(s contract.Shape) contract.Shape {
	if slices.Equal(s.Enum, []string{contract.RoleMachine.Kind()}) {
		s.Enum = nil
		for _, role := range contract.Roles() {
			s.Enum = append(s.Enum, role.Kind())
		}
	}
	s.Attributes = slices.Clone(s.Attributes)
	for i := range s.Attributes {
		s.Attributes[i].Shape = anyKind(s.Attributes[i].Shape)
	}
	return s
}

func healthRows() []healthData {
	var rows []healthData
	for _, state := range contract.HealthStates() {
		h := contract.Health{State: state, Healthy: true}
		row := healthData{State: string(state), Healthy: "any", Condition: h.Condition(), Remediation: h.RemediationCandidate()}
		if state != contract.HealthRunning {
			rows = append(rows, row)
			continue
		}
		row.Healthy = "true"
		ill := contract.Health{State: state}
		rows = append(rows, row, healthData{
			State: string(state), Healthy: "false", Condition: ill.Condition(), Remediation: ill.RemediationCandidate(),
		})
	}
	return rows
}

func names() []nameData {
	const role, namespace, name = contract.RoleMachine, "fleet", "prod-cp-x7k2p"
	return []nameData{
		{"State", "tfstate-default-<hash>-<c, m or mp>", contract.StateSecretName(role, namespace, name)},
		{"Inputs of the newest apply that was started", "captf-inputs-<c, m or mp>-<name>", contract.InputsSecretName(role, name)},
		{"Inputs of the newest apply that succeeded", "captf-applied-<c, m or mp>-<name>", contract.AppliedSecretName(role, name)},
	}
}

// cell makes text fit into one cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}

func code(v any) string { return "`" + strings.ReplaceAll(fmt.Sprint(v), "|", `\|`) + "`" }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func joinCodes(list []string) string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, code(s))
	}
	return strings.Join(out, ", ")
}

func declaredDefault(in contract.Input) string {
	if in.MayDefault {
		return "`null` allowed"
	}
	return "none"
}

func hashed(in contract.Input) string {
	switch {
	case in.UnhashedIf != "":
		return "unless " + code(in.UnhashedIf)
	case in.Rotates:
		return "yes, but not for approvals"
	default:
		return "yes"
	}
}

func nullMeaning(out contract.Output) string {
	var text string
	switch out.Null {
	case contract.NullPending:
		text = "not known yet: the object waits (`OutputsPending`)"
	case contract.NullAllowed:
		text = "none; may stay null"
	case contract.NullDefault:
		text = "stands for " + code(contract.Literal(out.NullValue))
	default:
		text = "an error (`OutputsInvalid`)"
	}
	if out.EmptyIsNull {
		text += `; "" is read as null`
	}
	return text
}

// place is one place in a value.
type place struct{ Path, Accepts, Doc string }

// places lists the places of a value with what each accepts.
func places(name string, s contract.Shape) []place {
	rows := []place{{Path: name, Accepts: s.Describe()}}
	return append(rows, below(name, s)...)
}

func below(name string, s contract.Shape) []place {
	var rows []place
	switch s.Kind {
	case contract.KindList:
		rows = below(name+"[*]", *s.Elem)
	case contract.KindMap:
		rows = below(name+"[key]", *s.Elem)
	case contract.KindObject:
		for _, a := range s.Attributes {
			path := name + "." + a.Name
			if s.AsMap {
				path = fmt.Sprintf("%s[%q]", name, a.Name)
			}
			doc := a.Doc
			switch {
			case a.Optional && a.Default != nil:
				doc += " Optional, default " + code(contract.Literal(a.Default)) + "."
			case a.Optional:
				doc += " Optional."
			}
			rows = append(rows, place{Path: path, Accepts: a.Shape.Describe(), Doc: doc})
			rows = append(rows, below(path, a.Shape)...)
		}
	}
	return rows
}

func waits(list []time.Duration) string {
	out := make([]string, 0, len(list))
	for _, d := range list {
		out = append(out, interval(d))
	}
	return strings.Join(out, ", ")
}

func interval(d time.Duration) string {
	switch {
	case d == 0:
		return "with the drift check"
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	default:
		return fmt.Sprintf("%d s", d/time.Second)
	}
}

func afterApply(c contract.Cadence) string {
	switch c.AfterApply {
	case contract.RefreshAlways:
		return "always"
	case contract.RefreshUnlessDefinite:
		return "unless the apply's own outputs are valid and the state is neither pending nor unknown"
	default:
		return "no"
	}
}

// amount groups the digits of a number.
func amount(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
