package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
	"github.com/captf-toolkit/captf/sdk/module"
)

// MembershipFile is the name of the file in which a role's directory declares
// how its instances join the control plane's backends (harness.md H1). It
// serves the harness alone and never ships in an image.
const MembershipFile = "captf-harness.json"

// maxMembershipFile is the largest such file, in bytes.
const maxMembershipFile = 64 << 10

// membershipFile is a decoded captf-harness.json.
type membershipFile struct {
	path    string
	pattern harness.Pattern
	members []declaredMember
}

type declaredMember struct {
	harness.Member
	// at is file:line:column of the address.
	at string
}

// readMembership reads the declaration in a module's directory; nil without one.
func readMembership(dir string) (*membershipFile, error) {
	path := filepath.Join(dir, MembershipFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the membership declaration: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxMembershipFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the membership declaration: %w", err)
	}
	if len(raw) > maxMembershipFile {
		return nil, fmt.Errorf("reading %s: it has more than %d bytes", path, maxMembershipFile)
	}
	return decodeMembership(path, raw)
}

// decodeMembership decodes a declaration. Its errors begin with path:line:column.
func decodeMembership(path string, raw []byte) (*membershipFile, error) {
	root, err := parseJSON(path, raw)
	if err != nil {
		return nil, err
	}
	top, err := root.object("membership")
	if err != nil {
		return nil, err
	}
	node, ok := top["membership"]
	if !ok {
		return nil, root.errorf(`it has no key "membership"`)
	}
	fields, err := node.object("pattern", "attachments", "selectors")
	if err != nil {
		return nil, err
	}
	out := &membershipFile{path: path}
	pattern, ok := fields["pattern"]
	if !ok {
		return nil, node.errorf(`the membership has no key "pattern": it is A, B or C`)
	}
	text, err := pattern.oneOf(string(harness.PatternAttachment), string(harness.PatternSelector), string(harness.PatternNone))
	if err != nil {
		return nil, err
	}
	out.pattern = harness.Pattern(text)

	// Which list a pattern has, and with which keys.
	list, keys := "", []string{"listener", "address"}
	switch out.pattern {
	case harness.PatternAttachment:
		list = "attachments"
	case harness.PatternSelector:
		list, keys = "selectors", append(keys, "path")
	}
	for _, name := range []string{"attachments", "selectors"} {
		if extra, ok := fields[name]; ok && name != list {
			return nil, extra.errorf("pattern %s has no %s", out.pattern, name)
		}
	}
	if list == "" {
		return out, nil
	}
	entries, ok := fields[list]
	if !ok {
		return nil, node.errorf("pattern %s needs the key %q with at least one entry", out.pattern, list)
	}
	items, err := entries.array()
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, entries.errorf("pattern %s needs at least one entry in %q", out.pattern, list)
	}
	for _, item := range items {
		m, err := decodeMember(item, keys)
		if err != nil {
			return nil, err
		}
		out.members = append(out.members, m)
	}
	return out, nil
}

func decodeMember(item *jsonNode, keys []string) (declaredMember, error) {
	var m declaredMember
	fields, err := item.object(keys...)
	if err != nil {
		return m, err
	}
	for _, k := range keys {
		if _, ok := fields[k]; !ok {
			return m, item.errorf("the entry has no key %q", k)
		}
	}
	listener, err := fields["listener"].oneOf(string(balancer.ListenerAPI), string(balancer.ListenerSupervisor))
	if err != nil {
		return m, err
	}
	m.Listener = balancer.Listener(listener)
	if m.Address, err = fields["address"].text(); err != nil {
		return m, err
	}
	m.at = fields["address"].place()
	if _, _, err := splitAddress(m.Address); err != nil {
		return m, fields["address"].errorf("%q is not a resource address such as aws_instance.this or module.lb.aws_instance.this[0]: %w", m.Address, err)
	}
	if p, ok := fields["path"]; ok {
		steps, err := p.array()
		if err != nil {
			return m, err
		}
		if len(steps) == 0 {
			return m, p.errorf("the path names no attribute")
		}
		for _, s := range steps {
			step, err := s.step()
			if err != nil {
				return m, err
			}
			m.Path = append(m.Path, step)
		}
	}
	return m, nil
}

// splitAddress splits a resource address into the names of the module calls
// that lead to it and TYPE.NAME.
func splitAddress(address string) (calls []string, resource string, err error) {
	t, diags := hclsyntax.ParseTraversalAbs([]byte(address), "", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, "", errors.New(module.Message(diags[0]))
	}
	var names []string
	for i, step := range t {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, s.Name)
		case hcl.TraverseAttr:
			names = append(names, s.Name)
		case hcl.TraverseIndex:
			// An instance key: after a complete name only.
			if i < 2 {
				return nil, "", errors.New("an instance key follows a name")
			}
		default:
			return nil, "", errors.New("only names and instance keys may be used")
		}
	}
	for len(names) > 2 && names[0] == "module" {
		calls = append(calls, names[1])
		names = names[2:]
	}
	if len(names) != 2 || names[0] == "module" || names[0] == "data" {
		return nil, "", errors.New("it is made of a resource type and a name")
	}
	return calls, names[0] + "." + names[1], nil
}

// membership tells how the module's instances join a backend: as its file
// says, else by the known types of attachment; nil when neither tells.
func (m *member) membership(view *module.Module) (*harness.Membership, error) {
	if d := m.declared; d != nil {
		out := &harness.Membership{Pattern: d.pattern, Declared: true}
		for _, dm := range d.members {
			if err := known(view, dm); err != nil {
				return nil, fmt.Errorf("opening the %s module: %w", m.role, err)
			}
			out.Members = append(out.Members, dm.Member)
		}
		return out, nil
	}
	var found []harness.Member
	walkCalls(view, func(prefix string, mod *module.Module) {
		for _, r := range mod.Resources {
			if r.Mode == module.Managed && balancer.Attaches(r.Type) {
				found = append(found, harness.Member{Address: prefix + r.Address()})
			}
		}
	})
	if len(found) == 0 {
		return nil, nil
	}
	return &harness.Membership{Pattern: harness.PatternAttachment, Members: found}, nil
}

// known checks that the module has the resource that a declaration names: a
// typing error would look like a machine that never joins.
func known(view *module.Module, dm declaredMember) error {
	calls, resource, err := splitAddress(dm.Address)
	if err != nil {
		return fmt.Errorf("%s: %w", dm.at, err)
	}
	mod := view
	for _, name := range calls {
		call := mod.Call(name)
		if call == nil {
			return fmt.Errorf("%s: %s: the module has no module call %q", dm.at, dm.Address, name)
		}
		if call.Module == nil {
			return nil // fetched by the runtime: nobody here can look inside
		}
		mod = call.Module
	}
	if mod.Resource(resource) != nil {
		return nil
	}
	var have []string
	for _, r := range mod.Resources {
		if r.Mode == module.Managed {
			have = append(have, r.Address())
		}
	}
	slices.Sort(have)
	if len(have) == 0 {
		have = []string{"no resources"}
	}
	return fmt.Errorf("%s: the module has no resource %s; it has %s", dm.at, resource, strings.Join(have, ", "))
}

// walkCalls calls visit for the module and every local module below it, once
// for each way that leads there; prefix is "" or such as module.lb. with a dot.
func walkCalls(root *module.Module, visit func(prefix string, m *module.Module)) {
	var walk func(prefix string, m *module.Module, depth int)
	walk = func(prefix string, m *module.Module, depth int) {
		visit(prefix, m)
		if depth >= module.DefaultMaxDepth {
			return
		}
		for _, c := range m.Calls {
			if c.Module != nil {
				walk(prefix+"module."+c.Name+".", c.Module, depth+1)
			}
		}
	}
	walk("", root, 0)
}
