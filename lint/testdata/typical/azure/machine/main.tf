variable "captf_cluster_outputs" {
  type    = any
  default = null
}

variable "machine_name" {
  type = string
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}

variable "failure_domain" {
  type    = string
  default = null
}

variable "control_plane" {
  type = bool
}

locals {
  exports = var.captf_cluster_outputs
  domains = sort(keys(local.exports.failure_domains))
  domain = coalesce(
    var.failure_domain,
    local.domains[parseint(substr(sha256(var.machine_name), 0, 8), 16) % length(local.domains)],
  )
}

resource "azurerm_network_interface" "node" {
  name                = "${var.machine_name}-nic"
  location            = local.exports.region
  resource_group_name = local.exports.resource_group_name

  ip_configuration {
    name                          = "node"
    subnet_id                     = local.exports.subnet_id
    private_ip_address_allocation = "Dynamic"
  }
}

resource "azurerm_network_interface_backend_address_pool_association" "api" {
  count                   = var.control_plane && try(local.exports.api, null) != null ? 1 : 0
  network_interface_id    = azurerm_network_interface.node.id
  ip_configuration_name   = "node"
  backend_address_pool_id = local.exports.api.backend_pool_id
}

resource "azurerm_linux_virtual_machine" "node" {
  name                  = var.machine_name
  location              = local.exports.region
  resource_group_name   = local.exports.resource_group_name
  zone                  = length(local.domains) == 0 ? null : local.domain
  size                  = "Standard_D4s_v5"
  custom_data           = var.bootstrap_data
  network_interface_ids = [azurerm_network_interface.node.id]

  depends_on = [azurerm_network_interface_backend_address_pool_association.api]
}

output "addresses" {
  value = [
    { type = "InternalIP", address = azurerm_network_interface.node.private_ip_address },
    { type = "Hostname", address = azurerm_linux_virtual_machine.node.name },
  ]
}

output "failure_domain" {
  value = try(azurerm_linux_virtual_machine.node.zone, null)
}
