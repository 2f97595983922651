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

variable "zones" {
  type    = set(string)
  default = ["europe-west4-a"]
}

resource "google_compute_instance_group" "control_plane" {
  for_each = var.zones
  name     = "${var.captf_cluster.name}-control-plane"
  zone     = each.key

  dynamic "named_port" {
    for_each = local.listeners
    content {
      name = named_port.key
      port = named_port.value.backend_port
    }
  }

  lifecycle {
    ignore_changes = [instances]
  }
}

resource "google_compute_address" "api" {
  name = var.captf_cluster.name
}

resource "google_compute_region_backend_service" "api" {
  for_each = local.listeners
  name     = "${var.captf_cluster.name}-${each.key}"

  dynamic "backend" {
    for_each = google_compute_instance_group.control_plane
    content {
      group = backend.value.self_link
    }
  }
}

resource "google_compute_forwarding_rule" "api" {
  for_each   = local.listeners
  name       = "${var.captf_cluster.name}-${each.key}"
  port_range = each.value.port
}

output "control_plane_endpoint" {
  value = local.own_endpoint ? { host = google_compute_address.api.address, port = local.api_port } : var.control_plane_endpoint
}

output "exports" {
  value = {
    failure_domains = { for zone in var.zones : zone => { zone = zone } }
    api             = { instance_groups = { for zone, group in google_compute_instance_group.control_plane : zone => group.self_link } }
  }
}
