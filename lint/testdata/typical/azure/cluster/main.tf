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

resource "azurerm_resource_group" "this" {
  name     = var.captf_cluster.name
  location = "westeurope"
}

resource "azurerm_lb" "api" {
  name                = "${var.captf_cluster.name}-api"
  location            = azurerm_resource_group.this.location
  resource_group_name = azurerm_resource_group.this.name

  frontend_ip_configuration {
    name      = "api"
    subnet_id = var.subnet_id
  }
}

resource "azurerm_lb_backend_address_pool" "control_plane" {
  name            = "control-plane"
  loadbalancer_id = azurerm_lb.api.id
}

resource "azurerm_lb_rule" "api" {
  for_each                       = local.listeners
  name                           = each.key
  loadbalancer_id                = azurerm_lb.api.id
  frontend_port                  = each.value.port
  backend_port                   = each.value.backend_port
  backend_address_pool_ids       = [azurerm_lb_backend_address_pool.control_plane.id]
  frontend_ip_configuration_name = "api"
  protocol                       = "Tcp"
}

output "control_plane_endpoint" {
  value = local.own_endpoint ? { host = azurerm_lb.api.private_ip_address, port = local.api_port } : var.control_plane_endpoint
}

output "exports" {
  value = {
    failure_domains = { "1" = {}, "2" = {} }
    api             = { backend_pool_id = azurerm_lb_backend_address_pool.control_plane.id }
  }
}
