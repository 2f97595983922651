# Who may talk to whom, one row a rule. Every node is in the group node, control-plane nodes
# in control_plane too, the load balancer in api.

locals {
  nodes         = { node = aws_security_group.node.id }
  control_plane = { control_plane = aws_security_group.control_plane.id }
  balancer      = { for key, group in { api = one(aws_security_group.api[*].id) } : key => group if local.own_endpoint }

  # To control-plane nodes: API and supervisor from all nodes and the load balancer; etcd
  # among themselves (2381 is RKE2's health check).
  control_plane_ingress = merge(
    { for key, service in local.services : "${key}-from-nodes" => { protocol = "tcp", from = service.backend, to = service.backend, group = local.nodes.node } },
    { for key, service in local.listeners : "${key}-from-balancer" => { protocol = "tcp", from = service.backend, to = service.backend, group = local.balancer.api } },
    { etcd = { protocol = "tcp", from = 2379, to = 2381, group = local.control_plane.control_plane } },
  )

  # To all nodes, from all nodes: the kubelet (etcd is reached through it), node ports, the
  # pod network.
  node_ingress = merge(
    {
      kubelet      = { protocol = "tcp", from = 10250, to = 10250 }
      nodeport-tcp = { protocol = "tcp", from = 30000, to = 32767 }
      nodeport-udp = { protocol = "udp", from = 30000, to = 32767 }
      icmp         = { protocol = "icmp", from = -1, to = -1 }
    },
    { for key, rule in var.cni_ports : "cni-${key}" => { protocol = rule.protocol, from = rule.from_port, to = rule.to_port } },
  )

  # To the load balancer: nodes, the VPC, and who is allowed to. Behind a public one nodes
  # arrive with their public addresses, so api_allowed_cidrs has to hold those too.
  balancer_ingress = merge(
    { for key, listener in local.listeners : "${key}-from-nodes" => { port = listener.frontend, group = local.nodes.node, cidr = null } },
    { for key, listener in local.listeners : "${key}-from-vpc" => { port = listener.frontend, group = null, cidr = var.vpc_cidr } },
    { for pair in setproduct(keys(local.listeners), var.api_allowed_cidrs) : "${pair[0]}-from-${pair[1]}" => { port = local.listeners[pair[0]].frontend, group = null, cidr = pair[1] } },
  )

  # With an endpoint that somebody else provides, its traffic comes from allowed ranges.
  direct_ingress = {
    for pair in setproduct(local.own_endpoint ? [] : keys(local.services), distinct(concat([var.vpc_cidr], var.api_allowed_cidrs))) :
    "${pair[0]}-from-${pair[1]}" => { port = local.services[pair[0]].backend, cidr = pair[1] }
  }
}

resource "aws_security_group" "node" {
  name                   = "${local.prefix}-node"
  description            = "Nodes of a Kubernetes cluster."
  vpc_id                 = aws_vpc.cluster.id
  revoke_rules_on_delete = true # of load balancers that the cloud controller manager made
  tags                   = merge(local.tags, local.owned, { Name = "${local.prefix}-node" })
}

resource "aws_security_group" "control_plane" {
  name        = "${local.prefix}-control-plane"
  description = "Control-plane nodes of a Kubernetes cluster."
  vpc_id      = aws_vpc.cluster.id
  tags        = merge(local.tags, { Name = "${local.prefix}-control-plane" })
}

resource "aws_security_group" "api" {
  count = local.own_endpoint ? 1 : 0

  name        = "${local.prefix}-api"
  description = "Load balancer of a Kubernetes API."
  vpc_id      = aws_vpc.cluster.id
  tags        = merge(local.tags, { Name = "${local.prefix}-api" })
}

resource "aws_vpc_security_group_ingress_rule" "control_plane" {
  for_each = local.control_plane_ingress

  security_group_id            = aws_security_group.control_plane.id
  description                  = each.key
  ip_protocol                  = each.value.protocol
  from_port                    = each.value.from
  to_port                      = each.value.to
  referenced_security_group_id = each.value.group
  tags                         = merge(local.tags, { Name = each.key })
}

resource "aws_vpc_security_group_ingress_rule" "direct" {
  for_each = local.direct_ingress

  security_group_id = aws_security_group.control_plane.id
  description       = each.key
  ip_protocol       = "tcp"
  from_port         = each.value.port
  to_port           = each.value.port
  cidr_ipv4         = each.value.cidr
  tags              = merge(local.tags, { Name = each.key })
}

resource "aws_vpc_security_group_ingress_rule" "node" {
  for_each = local.node_ingress

  security_group_id            = aws_security_group.node.id
  description                  = each.key
  ip_protocol                  = each.value.protocol
  from_port                    = each.value.from
  to_port                      = each.value.to
  referenced_security_group_id = aws_security_group.node.id
  tags                         = merge(local.tags, { Name = each.key })
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  for_each = toset(var.ssh_allowed_cidrs)

  security_group_id = aws_security_group.node.id
  description       = "ssh"
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
  cidr_ipv4         = each.value
  tags              = merge(local.tags, { Name = "ssh" })
}

resource "aws_vpc_security_group_egress_rule" "node" {
  security_group_id = aws_security_group.node.id
  description       = "all"
  ip_protocol       = "-1"
  cidr_ipv4         = "0.0.0.0/0"
  tags              = merge(local.tags, { Name = "all" })
}

resource "aws_vpc_security_group_ingress_rule" "api" {
  for_each = local.balancer_ingress

  security_group_id            = one(aws_security_group.api[*].id)
  description                  = each.key
  ip_protocol                  = "tcp"
  from_port                    = each.value.port
  to_port                      = each.value.port
  cidr_ipv4                    = each.value.cidr
  referenced_security_group_id = each.value.group
  tags                         = merge(local.tags, { Name = each.key })
}

resource "aws_vpc_security_group_egress_rule" "api" {
  for_each = local.listeners

  security_group_id            = one(aws_security_group.api[*].id)
  description                  = each.key
  ip_protocol                  = "tcp"
  from_port                    = each.value.backend
  to_port                      = each.value.backend
  referenced_security_group_id = aws_security_group.control_plane.id
  tags                         = merge(local.tags, { Name = each.key })
}
