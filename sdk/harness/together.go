package harness

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"

	"github.com/captf-toolkit/captf/contract"
)

// inputsOf is a pointer to the inputs T of one role.
type inputsOf[T any] interface {
	*T
	contract.Inputs
}

// unusual is one way in which inputs may differ from those of the story.
type unusual[T any] struct {
	// id is what a module breaks that does not accept it.
	id, what string
	change   func(in *T)
	// remedy is what to do where that of the id does not fit.
	remedy string
}

// planUnusual plans inputs with everything that is unusual about them at once:
// a module that accepts all of it needs one run. When that fails each is
// planned alone, so that the one at fault is blamed.
func planUnusual[T any, P inputsOf[T]](d *drill, object string, in T, all []unusual[T]) {
	together := in
	names := make([]string, 0, len(all))
	for _, u := range all {
		u.change(&together)
		names = append(names, u.what)
	}
	what := strings.Join(names, ", ")
	run := d.run(OpPlan, object, P(&together))
	if run == nil {
		return
	}
	if !run.Failed {
		for _, u := range all {
			if !strings.HasPrefix(u.id, idContract) {
				d.add(finding{id: u.id, role: d.role, status: StatusPassed, evidence: []string{"the plan with " + u.what + " succeeds"}})
			}
		}
		return
	}
	blamed := false
	for _, u := range all {
		alone := in
		u.change(&alone)
		one := d.run(OpPlan, object, P(&alone))
		if one == nil {
			return
		}
		blamed = blamed || one.Failed
		switch {
		case one.Failed:
			d.add(finding{id: u.id, role: d.role, status: StatusFailed, reason: "the plan with " + u.what + " fails: " + firstError(one), remedy: u.remedy})
		case !strings.HasPrefix(u.id, idContract):
			d.add(finding{id: u.id, role: d.role, status: StatusPassed, evidence: []string{"the plan with " + u.what + " succeeds"}})
		}
	}
	if !blamed {
		d.must(run, all[0].id, "the plan with all of "+what)
	}
}

// unusualNames are the names that every role has to accept: object names with
// dots and as long as the API server takes them, a namespace that is not
// default, an object that was cloned from no template. id is what asks for
// names of every form and length.
func unusualNames[T any, P inputsOf[T]](id string) []unusual[T] {
	return []unusual[T]{
		{id: id, what: "names with a dot", change: func(in *T) {
			rename(P(in), func(name string) string { return name + ".example" })
		}, remedy: "object names may hold dots: replace them where the cloud refuses them, as by replace(var.machine_name, \".\", \"-\"), and append a hash of the full name, so that a.b and a-b stay apart"},
		{id: id, what: fmt.Sprintf("names of %d characters", longName), change: func(in *T) { rename(P(in), stretch) }},
		{id: idContract + "captf_object", what: "another namespace than default", change: func(in *T) { move(P(in)) }},
		{id: idContract + "captf_tags", what: "the tag captf.io/template empty", change: func(in *T) { P(in).Common().Template = "" }},
	}
}

const unusualNamespace = "team-a"

// move puts an object and its cluster into another namespace than the story's.
func move(in contract.Inputs) {
	c := in.Common()
	c.Object.Namespace, c.Cluster.Namespace = unusualNamespace, unusualNamespace
}

// rename changes the names of an object and its owner.
func rename(in contract.Inputs, to func(string) string) {
	c := in.Common()
	c.Object.Name = to(c.Object.Name)
	switch in := in.(type) {
	case *contract.MachineInputs:
		in.MachineName = to(in.MachineName)
	case *contract.PoolInputs:
		in.MachinePoolName = to(in.MachinePoolName)
	}
}

// refusals begin the messages with which a runtime reports that a module
// refuses what it is given, rather than breaks over it.
var refusals = []string{"Resource precondition failed", "Resource postcondition failed", "Module output value precondition failed", "Invalid value for variable"}

// refuses tells that a failed run ended with conditions of the module itself.
func refuses(run *Run) bool {
	refused := false
	for _, d := range run.Diagnostics {
		if d.Severity != "error" {
			continue
		}
		known := false
		for _, r := range refusals {
			known = known || strings.HasPrefix(d.Summary, r)
		}
		if !known {
			return false
		}
		refused = true
	}
	return refused
}

// packed judges a plan with a gzip payload, which is no text (contract.md
// 10.1): a module may refuse it, but not break over it. The id is that of the
// contract's input: CP-047 asks for gzip where the bootstrap provider packs by itself.
func (d *drill) packed(run *Run) {
	if run == nil || !run.Failed || refuses(run) {
		return
	}
	id := idContract + "bootstrap_data"
	if d.p.cp.Packs && d.role == contract.RoleMachine {
		id = "CP-047"
	}
	d.add(finding{id: id, role: d.role, status: StatusFailed, reason: "the plan with a gzip payload fails: " + firstError(run) +
		"; the decoded payload is bytes and need not be UTF-8 text, so base64decode() breaks over it (CP-047): " +
		"hand bootstrap_data to an argument that takes base64, or refuse with a precondition what starts with H4sI"})
}

// gzipped packs a payload.
func gzipped(b contract.Bootstrap) contract.Bootstrap {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	// Writing to memory does not fail.
	_, _ = w.Write(b.Data)
	_ = w.Close()
	return contract.Bootstrap{Data: out.Bytes(), Format: b.Format}
}
