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

variable "subnet_id" {
  type    = string
  default = null
}

resource "openstack_lb_loadbalancer_v2" "api" {
  count         = local.own_endpoint ? 1 : 0
  name          = "${var.captf_cluster.name}-api"
  vip_subnet_id = var.subnet_id
}

resource "openstack_lb_listener_v2" "api" {
  for_each        = local.listeners
  loadbalancer_id = openstack_lb_loadbalancer_v2.api[0].id
  protocol        = "TCP"
  protocol_port   = each.value.port
}

resource "openstack_lb_pool_v2" "api" {
  for_each    = local.listeners
  listener_id = openstack_lb_listener_v2.api[each.key].id
  protocol    = "TCP"
  lb_method   = "ROUND_ROBIN"
}

resource "openstack_lb_monitor_v2" "api" {
  for_each = local.listeners
  pool_id  = openstack_lb_pool_v2.api[each.key].id
  type     = "TCP"
}

output "control_plane_endpoint" {
  value = local.own_endpoint ? { host = openstack_lb_loadbalancer_v2.api[0].vip_address, port = local.api_port } : var.control_plane_endpoint
}

output "exports" {
  value = {
    subnet_id       = var.subnet_id
    failure_domains = { nova = {} }
    api             = { pools = { for key, pool in openstack_lb_pool_v2.api : key => { id = pool.id, port = local.listeners[key].backend_port } } }
  }
}
