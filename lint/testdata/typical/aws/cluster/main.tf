variable "captf_cluster" {
  type = object({
    name      = string
    namespace = string
  })
}

variable "control_plane_endpoint" {
  type = object({
    host = string
    port = number
  })
  default = null
}

variable "control_plane_initialized" {
  type = bool
}

variable "cluster_network" {
  type = object({
    pods            = list(string)
    services        = list(string)
    service_domain  = string
    api_server_port = number
  })
  default = null
}

variable "distribution" {
  type        = string
  description = "Kubernetes distribution: kubeadm or rke2."
  default     = "kubeadm"

  validation {
    condition     = contains(["kubeadm", "rke2"], var.distribution)
    error_message = "distribution must be kubeadm or rke2."
  }
}

locals {
  own_endpoint = var.control_plane_endpoint == null
  api_port     = try(coalesce(var.cluster_network.api_server_port, 6443), 6443)
  listeners = local.own_endpoint ? merge(
    { kube_apiserver = { port = local.api_port, backend_port = var.distribution == "rke2" ? 6443 : local.api_port } },
    var.distribution == "rke2" ? { rke2_supervisor = { port = 9345, backend_port = 9345 } } : {},
  ) : {}
}

variable "subnets" {
  type    = map(string)
  default = {}
}

resource "aws_lb" "api" {
  count              = local.own_endpoint ? 1 : 0
  load_balancer_type = "network"
  subnets            = values(var.subnets)
}

resource "aws_lb_target_group" "api" {
  for_each           = local.listeners
  port               = each.value.backend_port
  protocol           = "TCP"
  preserve_client_ip = "false"
}

resource "aws_lb_listener" "api" {
  for_each          = local.listeners
  load_balancer_arn = aws_lb.api[0].arn
  port              = each.value.port

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.api[each.key].arn
  }
}

output "control_plane_endpoint" {
  value = local.own_endpoint ? { host = aws_lb.api[0].dns_name, port = local.api_port } : var.control_plane_endpoint
}

output "exports" {
  value = {
    failure_domains = { for zone, id in var.subnets : zone => { subnet_id = id } }
    api = local.own_endpoint ? {
      target_groups = { for key, group in aws_lb_target_group.api : key => { arn = group.arn, port = group.port } }
    } : null
  }
}
