package rules

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
	"github.com/captf-toolkit/captf/sdk/module"
)

var cpClusterMembers = lint.Rule{
	ID:         "cp/cluster-members",
	Severities: warningOrInfo,
	Roles:      onlyCluster,
	Summary:    "A resource of the cluster module makes machines that the module looks up or creates members of a load balancer (warning), or those that a variable or the text names (info).",
	Why:        "Control-plane machines come and go between applies of the cluster: whoever is listed in its state stays a backend when its machine is gone, and who is new is none.",
	Fix:        "Let the machine module make the attachment when `control_plane` is true, with ids from `exports`, or let the balancer select its backends by a tag or group.",
	Bad: `data "aws_instances" "control_plane" {
  instance_tags = { role = "control-plane" }
}

resource "aws_lb_target_group_attachment" "api" {
  for_each         = toset(data.aws_instances.control_plane.ids)
  target_group_arn = aws_lb_target_group.api.arn
  target_id        = each.value
}

resource "aws_lb_target_group" "api" {
  port = 6443
}`,
	Good: `resource "aws_lb_target_group" "api" {
  port = 6443
}

output "exports" {
  value = {
    target_group_arn = aws_lb_target_group.api.arn
  }
}`,
	Rules: []string{"CP-026", "control-planes.md 6"},
	Check: func(c *lint.Context) {
		for _, s := range scopes(c.Flow.Root()) {
			for _, r := range s.Module.Resources {
				for _, name := range memberPaths(r) {
					if !flow.IgnoresChanges(r, name) {
						clusterMember(c, place{scope: s, res: r}, name)
					}
				}
			}
		}
	},
}

// clusterMember reports an argument in a cluster module that holds machines.
func clusterMember(c *lint.Context, p place, name string) {
	const fix = "let the machine module make the attachment when control_plane is true, or select backends by a tag or group"
	for _, arg := range arguments(p.res, name) {
		leaves := c.Flow.Leaves(p.scope, arg.Expr)
		if usesEach(arg.Expr) && p.res.ForEach != nil {
			leaves = append(leaves, c.Flow.Leaves(p.scope, p.res.ForEach.Expr)...)
		}
		if i := slices.IndexFunc(leaves, func(l flow.Leaf) bool { r := l.Resource(); return r != nil && findsMachines(r) }); i >= 0 {
			c.Warnf(arg.Range, fix, "%s keeps machines (%s) as members in the state of the cluster, which is not applied when machines come and go",
				p.res.Address(), leaves[i].Resource().Address())
			continue
		}
		if len(leaves) == 0 && lists(c.Flow.Eval(p.scope, arg.Expr)) {
			c.Infof(arg.Range, fix, "%s lists members in the text: if these are control-plane machines, those that come later are none", p.res.Address())
			continue
		}
		for _, l := range leaves {
			if v := l.Variable(); v != nil && l.Scope.Call == nil && userVariable(c, v) {
				c.Infof(arg.Range, fix, "%s takes its members from var.%s: if these are control-plane machines, those that come later are none", p.res.Address(), v.Name)
				break
			}
		}
	}
}

// usesEach tells that an expression takes its value from the key or value of for_each.
func usesEach(expr hcl.Expression) bool {
	return slices.ContainsFunc(expr.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "each" })
}

// lists tells that a value is a text, or a list that is not empty.
func lists(v flow.Value) bool {
	return v.Kind == flow.Known && v.Known.Type() == cty.String || v.Kind == flow.Tuple && len(v.Items) > 0
}

func userVariable(c *lint.Context, v *module.Variable) bool {
	_, ok := c.Spec.Input(v.Name)
	return !ok
}

var cpSupervisorListener = lint.Rule{
	ID:         "cp/supervisor-listener",
	Severities: isInfo,
	Roles:      onlyCluster,
	Summary:    "The module names RKE2 and makes listeners of a load balancer, but none serves port 9345.",
	Why:        "With RKE2's default registration method, nodes join at port 9345 of the endpoint's host, whatever the endpoint's port is: without that listener only the first machine comes up.",
	Fix:        "Add a listener on 9345 that forwards to 9345 of the control-plane machines, at the same address, and export its target for the machines.",
	Bad: `variable "distribution" {
  type    = string
  default = "rke2"
}

resource "aws_lb_listener" "api" {
  port = 6443
}`,
	Good: `variable "distribution" {
  type    = string
  default = "rke2"
}

resource "aws_lb_listener" "api" {
  port = 6443
}

resource "aws_lb_listener" "supervisor" {
  port = 9345
}`,
	Rules: []string{"lint.md 8 G16", "CP-016"},
	Check: func(c *lint.Context) {
		var found []place
		for _, s := range scopes(c.Flow.Root()) {
			for _, r := range s.Module.Resources {
				if t := known(r); t != nil && t.Listener != nil {
					found = append(found, place{scope: s, res: r})
				}
			}
		}
		if len(found) == 0 || !readsAll(c) {
			return
		}
		rke2, supervisor := namesRKE2(c)
		if !rke2 || supervisor || slices.ContainsFunc(found, func(p place) bool { return mayServe(c, p) }) {
			return
		}
		c.Infof(found[0].res.DefRange, "add a listener on 9345 at the same address, or say in the README that only other registration methods work",
			"the module names RKE2, but no listener serves port %d, where its nodes join by default", supervisorPort)
	},
}

// supervisorPort is where RKE2's nodes join (control-planes.md 4).
const supervisorPort = 9345

// mayServe tells that a listener may serve the supervisor's port, which is not
// written anywhere in the module: it serves a range of ports, or one that comes
// from outside.
func mayServe(c *lint.Context, p place) bool {
	known := false
	for _, path := range balancer.TypeOf(p.res.Type).Listener.Ports {
		for _, arg := range arguments(p.res, path) {
			known = true
			for _, v := range c.Flow.Eval(p.scope, arg.Expr).Each() {
				text, ok := knownText(v)
				if ok && (strings.Contains(text, "-") || text == "0") || !ok && fromOutside(c, p, arg.Expr) {
					return true
				}
			}
		}
	}
	return !known
}

// fromOutside tells that a port may come from somewhere else than the text and the
// contract's inputs.
func fromOutside(c *lint.Context, p place, expr hcl.Expression) bool {
	leaves := c.Flow.Leaves(p.scope, expr)
	if p.res.ForEach != nil {
		leaves = append(leaves, c.Flow.Leaves(p.scope, p.res.ForEach.Expr)...)
	}
	return slices.ContainsFunc(leaves, func(l flow.Leaf) bool {
		v := l.Variable()
		if v == nil || l.Scope.Call != nil {
			return true
		}
		// A text or a switch chooses among what is written.
		return userVariable(c, v) && (!v.HasType || v.Type != cty.String && v.Type != cty.Bool)
	})
}

// knownText writes a number or text that is known.
func knownText(v flow.Value) (string, bool) {
	if v.Kind != flow.Known {
		return "", false
	}
	switch v.Known.Type() {
	case cty.String:
		return v.Known.AsString(), true
	case cty.Number:
		return v.Known.AsBigFloat().Text('f', -1), true
	}
	return "", false
}

// readsAll tells that all of the module was read: nothing is fetched from elsewhere.
func readsAll(c *lint.Context) bool {
	return !slices.ContainsFunc(c.Modules(), func(m *module.Module) bool {
		return !c.Tree.Complete(m) || slices.ContainsFunc(m.Calls, func(call *module.ModuleCall) bool { return call.Module == nil })
	})
}

// rke2Word is a text of one word that names RKE2; descriptions, which have more, do
// not say that the module supports it.
var rke2Word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^[\w.+-]*rke2[\w.+-]*$`) })

// namesRKE2 tells that a name or a value in the module is about RKE2, and that the
// supervisor's port is written in it; comments do not count.
func namesRKE2(c *lint.Context) (rke2, supervisor bool) {
	var files []*module.File
	for _, m := range c.Modules() {
		files = append(files, m.Files...)
	}
	if !slices.ContainsFunc(files, func(f *module.File) bool { return bytes.Contains(bytes.ToLower(f.Bytes), []byte("rke2")) }) {
		return false, false
	}
	port := []byte(strconv.Itoa(supervisorPort))
	for _, f := range files {
		if f.JSON {
			supervisor = supervisor || bytes.Contains(f.Bytes, port)
			continue
		}
		tokens, _ := hclsyntax.LexConfig(f.Bytes, f.Name, hcl.InitialPos)
		for _, t := range tokens {
			switch t.Type {
			case hclsyntax.TokenIdent, hclsyntax.TokenQuotedLit:
				rke2 = rke2 || rke2Word().Match(t.Bytes)
			case hclsyntax.TokenComment:
				continue
			}
			supervisor = supervisor || bytes.Contains(t.Bytes, port)
		}
	}
	return rke2, supervisor
}
