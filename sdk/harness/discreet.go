package harness

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/captf-toolkit/captf/contract"
)

// shownRunes is how much of a long value messages of the contract quote.
const shownRunes = 64

// hidden stands in a story or report for a value that may not be shown.
const hidden = "(sensitive)"

// discreet is a contract version that keeps the values of outputs which the
// module marks sensitive out of messages, and notes them, so that nothing else
// shows them either. Values are compared as ever, they are only not written.
type discreet struct {
	contract.Definition
	modules Modules

	mu      sync.Mutex
	secrets []string // longest first, so that none is half replaced
	// own are names that the harness itself gave: they are no secrets of a module.
	own map[string]bool
}

// DecodeCluster decodes like the contract version itself.
func (d *discreet) DecodeCluster(values contract.Values) (*contract.ClusterOutputs, contract.Violations) {
	out, vs := d.Definition.DecodeCluster(values)
	return out, d.hide(contract.RoleCluster, values, vs)
}

// DecodeMachine decodes like the contract version itself.
func (d *discreet) DecodeMachine(values contract.Values, in *contract.MachineInputs) (*contract.MachineOutputs, contract.Violations) {
	out, vs := d.Definition.DecodeMachine(values, in)
	if in != nil {
		d.keep(in.MachineName, in.Object.Name)
	}
	return out, d.hide(contract.RoleMachine, values, vs)
}

// DecodePool decodes like the contract version itself.
func (d *discreet) DecodePool(values contract.Values) (*contract.PoolOutputs, contract.Violations) {
	out, vs := d.Definition.DecodePool(values)
	return out, d.hide(contract.RoleMachinePool, values, vs)
}

// hide notes the values of sensitive outputs and takes them out of messages.
func (d *discreet) hide(role contract.Role, values contract.Values, vs contract.Violations) contract.Violations {
	sensitive := d.modules.Module(role).Sensitive
	for name, raw := range values.Outputs {
		if sensitive[name] {
			walkJSON(raw, func(_ []string, value any) { d.note(value) })
		}
	}
	for n, v := range vs {
		if sensitive[outputOf(v.Path)] {
			vs[n].Message = fmt.Sprintf("breaks the rule %s of the contract; the output is sensitive, so its value is not shown", v.Rule)
		}
	}
	return vs
}

// guard notes the values of the user's sensitive variables, so that they stay
// hidden also where a module hands them on unmarked, as nonsensitive() does, or
// in base64.
func (d *discreet) guard() {
	for _, role := range d.modules.Roles() {
		for _, secret := range d.modules.Module(role).Secrets {
			texts := []any{secret}
			walkJSON([]byte(secret), func(_ []string, value any) { texts = append(texts, value) })
			for _, text := range texts {
				d.note(text)
				if s, ok := text.(string); ok && len([]rune(s)) >= wordRunes {
					d.note(base64.StdEncoding.EncodeToString([]byte(s)))
				}
			}
		}
	}
}

// keep notes names that the harness gave.
func (d *discreet) keep(names ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.own == nil {
		d.own = map[string]bool{}
	}
	for _, name := range names {
		d.own[name] = true
	}
}

// note keeps a text as a secret, in the forms in which messages write it. Words
// of the contract itself say nothing about the module and stay readable.
func (d *discreet) note(value any) {
	s, ok := value.(string)
	if !ok || s == "" || contractWord(s) {
		return
	}
	quoted := strconv.Quote(s)
	forms := []string{s, quoted[1 : len(quoted)-1]}
	if runes := []rune(s); len(runes) > shownRunes {
		cut := strconv.Quote(string(runes[:shownRunes]))
		forms = append(forms, string(runes[:shownRunes]), cut[1:len(cut)-1])
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.own[s] {
		return
	}
	for _, form := range forms {
		if len([]rune(form)) < wordRunes {
			form = `"` + form + `"` // a value, not letters of any word
		}
		if !slices.Contains(d.secrets, form) {
			d.secrets = append(d.secrets, form)
		}
	}
	slices.SortFunc(d.secrets, func(a, b string) int { return len(b) - len(a) })
}

func contractWord(s string) bool {
	return slices.Contains(contract.HealthStates(), contract.HealthState(s)) || slices.Contains(contract.AddressTypes(), contract.AddressType(s))
}

// Secrets of at least partRunes are looked for everywhere, those of at least
// wordRunes as whole words, and shorter ones only in quotes: else they would be
// found in words that have nothing to do with them.
const wordRunes, partRunes = 4, 12

// clean returns the text without secrets. It is one pass, so that nothing is
// looked for in what stands for a secret.
func (d *discreet) clean(text string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.secrets) == 0 {
		return text
	}
	var b strings.Builder
	for at := 0; at < len(text); {
		if s := d.secretAt(text, at); s != "" {
			b.WriteString(hidden)
			at += len(s)
			continue
		}
		b.WriteByte(text[at])
		at++
	}
	return b.String()
}

// secretAt returns the longest secret that begins there.
func (d *discreet) secretAt(text string, at int) string {
	for _, s := range d.secrets {
		if !strings.HasPrefix(text[at:], s) {
			continue
		}
		if utf8.RuneCountInString(s) >= partRunes {
			return s
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(s):])
		first, _ := utf8.DecodeRuneInString(s)
		last, _ := utf8.DecodeLastRuneInString(s)
		if !(inWord(before) && inWord(first)) && !(inWord(last) && inWord(after)) {
			return s
		}
	}
	return ""
}

// inWord tells that the rune is part of a word or name.
func inWord(r rune) bool {
	return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// cleanResult takes secrets out of everything that a report shows.
func (d *discreet) cleanResult(r *Result) {
	r.Error = d.clean(r.Error)
	for n := range r.Requirements {
		q := &r.Requirements[n]
		q.Reason = d.clean(q.Reason)
		for e := range q.Evidence {
			q.Evidence[e] = d.clean(q.Evidence[e])
		}
		for _, proof := range q.Proof {
			for o := range proof.Outputs {
				proof.Outputs[o].Value = d.clean(proof.Outputs[o].Value)
			}
		}
	}
	for n := range r.Notes {
		r.Notes[n].Message = d.clean(r.Notes[n].Message)
	}
	if s := r.Stalled; s != nil {
		s.Message = d.clean(s.Message) // the object is one of the harness
	}
}
