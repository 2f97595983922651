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

resource "oci_network_load_balancer_network_load_balancer" "api" {
  compartment_id = "compartment"
  display_name   = "${var.captf_cluster.name}-api"
  subnet_id      = var.subnet_id
}

resource "oci_network_load_balancer_backend_set" "api" {
  for_each                 = local.listeners
  name                     = replace(each.key, "_", "-")
  network_load_balancer_id = oci_network_load_balancer_network_load_balancer.api.id
  policy                   = "FIVE_TUPLE"
  is_preserve_source       = false

  health_checker {
    protocol = "TCP"
    port     = each.value.backend_port
  }
}

resource "oci_network_load_balancer_listener" "api" {
  for_each                 = local.listeners
  name                     = replace(each.key, "_", "-")
  network_load_balancer_id = oci_network_load_balancer_network_load_balancer.api.id
  default_backend_set_name = oci_network_load_balancer_backend_set.api[each.key].name
  port                     = each.value.port
  protocol                 = "TCP"
}

output "control_plane_endpoint" {
  value = local.own_endpoint ? {
    host = oci_network_load_balancer_network_load_balancer.api.assigned_private_ipv4
    port = local.api_port
  } : var.control_plane_endpoint
}

output "exports" {
  value = {
    failure_domains = { "FAULT-DOMAIN-1" = { fault_domain = "FAULT-DOMAIN-1" } }
    backend_sets    = { for key, set in oci_network_load_balancer_backend_set.api : key => { name = set.name, port = local.listeners[key].backend_port } }
    balancer_id     = oci_network_load_balancer_network_load_balancer.api.id
  }
}
