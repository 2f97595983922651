# The endpoint: a network load balancer with one listener and one target group for each
# service. Machines register themselves (pattern A), so their state holds the membership.

# tfcapi-lint:ignore cluster/endpoint-protect api_endpoint_guard refuses what would move the endpoint; prevent_destroy would also stop the cluster's deletion
resource "aws_lb" "api" {
  count = local.own_endpoint ? 1 : 0

  name                             = "${local.short}-api"
  load_balancer_type               = "network"
  internal                         = !var.api_load_balancer_public
  ip_address_type                  = "ipv4"
  subnets                          = [for subnet in aws_subnet.zone : subnet.id]
  security_groups                  = aws_security_group.api[*].id # only possible at creation
  enable_cross_zone_load_balancing = true
  tags                             = merge(local.tags, { Name = "${local.short}-api" })

  depends_on = [aws_route.internet]

  lifecycle {
    precondition {
      condition     = !var.api_load_balancer_public || length(var.api_allowed_cidrs) > 0
      error_message = "api_load_balancer_public needs api_allowed_cidrs: the ranges of clients, and of the nodes' public addresses."
    }

    precondition {
      condition     = !(local.rke2 && local.api_port == 9345)
      error_message = "cluster_network.api_server_port must not be 9345 with RKE2, whose supervisor listens there."
    }
  }
}

resource "aws_lb_target_group" "api" {
  for_each = local.listeners

  name                 = "${local.short}-${each.value.suffix}"
  port                 = each.value.backend
  protocol             = "TCP"
  target_type          = "instance"
  vpc_id               = aws_vpc.cluster.id
  deregistration_delay = "30"

  # A node has to reach itself through the load balancer (CP-020), which keeps no
  # connection whose client is the target, so the client's address must not be kept.
  preserve_client_ip = "false"

  # TCP needs neither a client certificate (CP-018) nor the 403 of RKE2's supervisor
  # (CP-019). Healthy after 20 s, unhealthy after 20 s (CP-023).
  health_check {
    protocol            = "TCP"
    port                = "traffic-port"
    interval            = 10
    timeout             = 5
    healthy_threshold   = 2
    unhealthy_threshold = 2
  }

  tags = merge(local.tags, { Name = "${local.short}-${each.value.suffix}" })
}

resource "aws_lb_listener" "api" {
  for_each = local.listeners

  load_balancer_arn        = one(aws_lb.api[*].arn)
  port                     = each.value.frontend
  protocol                 = "TCP"
  tcp_idle_timeout_seconds = 3600 # watches are quiet for longer than the default of 350
  tags                     = merge(local.tags, { Name = "${local.short}-${each.value.suffix}" })

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.api[each.key].arn
  }
}

# Cluster API copies the endpoint once and never again. This remembers what decided it, and
# refuses a plan that would move it (CP-003).
resource "terraform_data" "api_endpoint_guard" {
  count = local.own_endpoint ? 1 : 0

  input = {
    public = var.api_load_balancer_public
    region = var.region
    vpc    = var.vpc_cidr
    port   = local.api_port
  }

  lifecycle {
    ignore_changes = [input]

    postcondition {
      condition     = self.input.public == var.api_load_balancer_public
      error_message = "api_load_balancer_public decides the endpoint and was ${self.input.public} when the load balancer was made: set it back, or make a new cluster."
    }

    postcondition {
      condition     = self.input.region == var.region && self.input.vpc == var.vpc_cidr
      error_message = "region and vpc_cidr decide the endpoint and were ${self.input.region} and ${self.input.vpc} when the load balancer was made: set them back, or make a new cluster."
    }

    postcondition {
      condition     = self.input.port == local.api_port
      error_message = "cluster_network.api_server_port decides the endpoint and was ${self.input.port} when the load balancer was made: set it back, or make a new cluster."
    }
  }
}
