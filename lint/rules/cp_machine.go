package rules

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

var cpRegistration = lint.Rule{
	ID:         "cp/registration",
	Severities: isInfo,
	Roles:      onlyMachine,
	Summary:    "The module makes a cloud's instance and reads `captf_cluster_outputs`, but nothing that it makes depends on `control_plane`, and it has no attachment to a load balancer.",
	Why:        "Unless the endpoint is an address that the nodes themselves or the user provide, a control-plane machine has to become a backend in the same apply, and a worker must not.",
	Fix:        "Make the attachment with `count = var.control_plane ? 1 : 0`, or set the tag or group by which the balancer selects its backends from `var.control_plane`.",
	Bad: `variable "control_plane" {
  type = bool
}

resource "aws_instance" "node" {
  subnet_id = var.captf_cluster_outputs.subnet_id
}`,
	Good: `variable "control_plane" {
  type = bool
}

resource "aws_instance" "node" {
  subnet_id = var.captf_cluster_outputs.subnet_id
}

resource "aws_lb_target_group_attachment" "api" {
  count            = var.control_plane ? 1 : 0
  target_group_arn = var.captf_cluster_outputs.target_group_arn
  target_id        = aws_instance.node.id
}`,
	Rules: []string{"lint.md 8 G16", "CP-030"},
	Check: func(c *lint.Context) {
		v := c.Root.Variable(inputControlPlane)
		if v == nil || !readsAll(c) || !mentions(c, c.Root, "var", inputOutputs) {
			return
		}
		machine := false
		for _, m := range c.Modules() {
			for _, r := range m.Resources {
				if isAttachment(r) || holdsMemberList(r) {
					return
				}
				machine = machine || isMachine(r)
			}
		}
		u := madeWith{usage{c: c, seen: map[usageKey]bool{}}}
		if machine && !u.variable(c.Root, inputControlPlane) {
			c.Infof(v.DefRange, "attach the machine to the balancer, or set what the balancer selects by, when var.control_plane is true; nothing is to do if the endpoint needs no balancer",
				"nothing that is made depends on var.%s, so no balancer can have control-plane machines, and only those, as backends", inputControlPlane)
		}
	},
}

// madeWith is the search for uses that decide what is made: conditions do not.
type madeWith struct{ usage }

func (u madeWith) variable(m *module.Module, name string) bool {
	if u.seen[usageKey{m, "var", name}] {
		return false
	}
	u.seen[usageKey{m, "var", name}] = true
	return slices.ContainsFunc(u.c.References(m), func(ref module.Reference) bool {
		if !ref.Is("var", name) {
			return false
		}
		owner := ref.Owner
		switch {
		case owner.Kind == module.OwnerResource && owner.Argument() == "lifecycle":
			return false
		case owner.Kind == module.OwnerCall && owner.Call.Module != nil:
			if _, isArg := owner.Call.Args[owner.Argument()]; isArg {
				return u.variable(owner.Call.Module, owner.Argument())
			}
		}
		return u.counts(m, ref, false)
	})
}

var cpMemberList = lint.Rule{
	ID:         "cp/member-list",
	Severities: isWarning,
	Roles:      onlyMachine,
	Summary:    "A resource of the machine module holds the complete list of members of something that all machines share, such as `instances` of `aws_elb` or a member of `openstack_lb_members_v2`.",
	Why:        "Each machine has a state of its own: the next machine that is applied removes this one from the list, and destroying one removes all.",
	Fix:        "Use the resource that attaches one member, such as `aws_elb_attachment`, `google_compute_instance_group_membership` or `openstack_lb_member_v2`.",
	Bad: `resource "openstack_lb_members_v2" "api" {
  pool_id = var.captf_cluster_outputs.pool_id

  member {
    address       = openstack_compute_instance_v2.node.access_ip_v4
    protocol_port = 6443
  }
}`,
	Good: `resource "openstack_lb_member_v2" "api" {
  count         = var.control_plane ? 1 : 0
  pool_id       = var.captf_cluster_outputs.pool_id
  address       = openstack_compute_instance_v2.node.access_ip_v4
  protocol_port = 6443
}

variable "control_plane" {
  type = bool
}`,
	Rules: []string{"CP-035", "CP-037"},
	Check: func(c *lint.Context) {
		for _, s := range scopes(c.Flow.Root()) {
			for _, r := range s.Module.Resources {
				if !holdsMemberList(r) || private(c, place{scope: s, res: r}) {
					continue
				}
				for _, name := range known(r).Members {
					args := arguments(r, name)
					if len(args) == 0 || flow.IgnoresChanges(r, name) || emptyList(c, s, args[0]) {
						continue
					}
					c.Warnf(args[0].Range, "use the resource that attaches one member",
						"%s holds the complete list of members in the state of one machine: the next machine that is applied takes this one out", r.Address())
				}
			}
		}
	},
}

// emptyList tells that an argument is a list without members.
func emptyList(c *lint.Context, s *flow.Scope, a *hcl.Attribute) bool {
	v := c.Flow.Eval(s, a.Expr)
	return v.AlwaysNull() || v.Kind == flow.Tuple && len(v.Items) == 0
}

// private tells that a resource makes what the members are in, for the machine alone:
// it is named after the machine, or its name is made up. A resource that has only the
// list is about something that is there already.
func private(c *lint.Context, p place) bool {
	if t := known(p.res); t.Pool == nil && t.Frontend == nil {
		return false
	}
	attrs := p.res.Body.Attributes()
	for _, name := range []string{"name", "display_name", "label"} {
		if a := attrs[name]; a != nil {
			return slices.ContainsFunc(c.Flow.Leaves(p.scope, a.Expr), func(l flow.Leaf) bool {
				v := l.Variable()
				return v == nil || v.Name == inputMachineName || v.Name == inputObject
			})
		}
	}
	return true
}

var cpFailureDomainEcho = lint.Rule{
	ID:         "cp/failure-domain-echo",
	Severities: isWarning,
	Roles:      onlyMachine,
	Summary:    "The output `failure_domain` repeats the input, but nothing that is made depends on the input.",
	Why:        "The machine is wherever it happens to be, while the control plane counts it in the domain that it asked for: a whole control plane can end up in one zone without a word.",
	Fix:        "Place the instance by `var.failure_domain`, and output the domain that it is in; or refuse what cannot be done in a validation or precondition.",
	Bad: `variable "failure_domain" {
  type    = string
  default = null
}

resource "aws_instance" "node" {
  subnet_id = var.captf_cluster_outputs.subnet_id
}

output "failure_domain" {
  value = var.failure_domain
}`,
	Good: `variable "failure_domain" {
  type    = string
  default = null
}

resource "aws_instance" "node" {
  availability_zone = var.failure_domain
}

output "failure_domain" {
  value = aws_instance.node.availability_zone
}`,
	Rules: []string{"CP-045"},
	Check: func(c *lint.Context) {
		v, o := c.Root.Variable(nameFailureDomain), c.Root.Output(nameFailureDomain)
		if v == nil || o == nil || o.Value == nil || !c.Tree.Complete(c.Root) {
			return
		}
		echoes := slices.ContainsFunc(c.Flow.Leaves(c.Flow.Root(), o.Value), func(l flow.Leaf) bool { return l.Variable() == v })
		s := useSearch{c: c, validationIsEnough: true, onlyMade: true, seen: map[usageKey]bool{}}
		if echoes && !s.used(c.Root, "var", nameFailureDomain) {
			c.Warnf(o.RangeOf("value"), "place the instance by var."+nameFailureDomain+", and output where it is",
				"the output repeats var.%s, but nothing is placed by it", nameFailureDomain)
		}
	},
}

var cpAddresses = lint.Rule{
	ID:         "cp/addresses",
	Severities: warningOrInfo,
	Roles:      onlyMachine,
	Summary:    "`addresses` can only be empty (warning), or has no address of type InternalIP on any branch (info).",
	Why:        "People and approvers of kubelet certificates read the addresses, and RKE2's registration methods that use addresses of machines find none.",
	Fix:        "Output the address of the instance as `{ type = \"InternalIP\", address = … }`.",
	Bad: `output "addresses" {
  value = [
    { type = "ExternalIP", address = aws_instance.node.public_ip },
  ]
}`,
	Good: `output "addresses" {
  value = [
    { type = "InternalIP", address = aws_instance.node.private_ip },
    { type = "ExternalIP", address = aws_instance.node.public_ip },
  ]
}`,
	Rules: []string{"lint.md 8 G16", "CP-042", "CP-043"},
	Check: func(c *lint.Context) {
		o := c.Root.Output(outAddresses)
		if o == nil || o.Value == nil {
			return
		}
		types, known := addressTypes(c.Flow.Output(o))
		switch {
		case !known || slices.Contains(types, string(contract.AddressInternalIP)):
		case len(types) > 0:
			c.Infof(o.RangeOf("value"), fmt.Sprintf("add the instance's own address with the type %s", contract.AddressInternalIP),
				"%s never has an address of type %s, which RKE2's registration by address needs", outAddresses, contract.AddressInternalIP)
		case !c.Flow.Output(o).AlwaysNull(): // output/shape is about null
			c.Warnf(o.RangeOf("value"), "output the address of the instance", "%s can only be empty, but a machine has at least one", outAddresses)
		}
	},
}

// addressTypes returns the types of the addresses that a list can hold; known is
// false as soon as one cannot be told, or is none, which is for output/shape.
func addressTypes(list flow.Value) (types []string, known bool) {
	for _, alt := range list.Each() {
		items := alt.Items
		switch alt.Kind {
		case flow.Null, flow.Tuple:
		case flow.List:
			items = []flow.Value{*alt.Item}
		default:
			return nil, false
		}
		for _, item := range items {
			for _, address := range item.Each() {
				kind, ok := address.Attributes["type"]
				if address.Kind != flow.Object || !ok {
					return nil, false
				}
				for _, k := range kind.Each() {
					text, ok := knownText(k)
					if !ok || !slices.Contains(contract.AddressTypes(), contract.AddressType(text)) {
						return nil, false
					}
					types = append(types, text)
				}
			}
		}
	}
	return types, true
}
