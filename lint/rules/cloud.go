package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
	"github.com/captf-toolkit/captf/sdk/module"
)

// known is what is known of the type of a managed resource; nil for others.
func known(r *module.Resource) *balancer.Type {
	if r.Mode != module.Managed {
		return nil
	}
	return balancer.TypeOf(r.Type)
}

// isMachine tells that a managed resource is a machine, or the network card of one.
func isMachine(r *module.Resource) bool {
	t := known(r)
	return t != nil && t.Instance
}

// findsMachines tells that a resource is a machine, or a data source finds machines:
// it has the name of a type of machine, or its plural.
func findsMachines(r *module.Resource) bool {
	if r.Mode == module.Data {
		t := cmp.Or(balancer.TypeOf(r.Type), balancer.TypeOf(strings.TrimSuffix(r.Type, "s")))
		return t != nil && t.Instance
	}
	return isMachine(r)
}

// isAttachment tells that a resource makes one machine a backend (control-planes.md
// 6, pattern A).
func isAttachment(r *module.Resource) bool {
	t := known(r)
	return t != nil && t.Attachment != nil
}

// holdsMemberList tells that a resource can hold the complete list of members of something.
func holdsMemberList(r *module.Resource) bool {
	t := known(r)
	return t != nil && len(t.Members) > 0
}

// memberPaths returns the arguments by which a resource names members.
func memberPaths(r *module.Resource) []string {
	t := known(r)
	switch {
	case t == nil:
		return nil
	case t.Attachment != nil:
		return append([]string{t.Attachment.Target}, t.Attachment.Otherwise...)
	}
	return t.Members
}

// arguments returns the arguments that a path such as listener.lb_port leads to,
// through the blocks that a dynamic block makes too; of a path that ends at a block
// those are all in it.
func arguments(r *module.Resource, path string) []*hcl.Attribute {
	want := strings.Split(path, ".")
	var out []*hcl.Attribute
	visit := func(at []string, a *hcl.Attribute) {
		full := append(slices.Clone(at), a.Name)
		if len(full) >= len(want) && slices.Equal(full[:len(want)], want) {
			out = append(out, a)
		}
	}
	r.Body.Walk(visit)
	for _, b := range r.Body.Blocks() {
		if b.Type == "dynamic" && len(b.Labels) == 1 && b.Labels[0] == want[0] {
			b.Body.Walk(func(at []string, a *hcl.Attribute) {
				switch {
				case len(at) > 0 && at[0] == "content":
					visit(append([]string{b.Labels[0]}, at[1:]...), a)
				case a.Name == "for_each" && len(want) == 1:
					out = append(out, a)
				}
			})
		}
	}
	return out
}

// maxScopes bounds the calls of modules that are looked into: modules that call
// each other twice multiply.
const maxScopes = 2_000

// scopes returns the scope of the root module and those of the local modules
// that it calls: a module that is called twice has two.
func scopes(root *flow.Scope) []*flow.Scope {
	all := []*flow.Scope{root}
	for i := 0; i < len(all) && len(all) < maxScopes; i++ {
		for _, call := range all[i].Module.Calls {
			if child := all[i].Child(call); child != nil {
				all = append(all, child)
			}
		}
	}
	return all
}
