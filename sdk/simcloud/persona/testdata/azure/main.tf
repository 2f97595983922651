terraform {
  required_providers {
    azurerm = { source = "hashicorp/azurerm" }
  }
}

provider "azurerm" {
  features {}
}

variable "replicas" { default = 3 }

data "azurerm_client_config" "here" {}

resource "azurerm_resource_group" "g" {
  name     = "demo"
  location = "westeurope"
  tags     = { a = "b" }
}
resource "azurerm_virtual_network" "n" {
  name                = "demo"
  location            = azurerm_resource_group.g.location
  resource_group_name = azurerm_resource_group.g.name
  address_space       = ["10.5.0.0/16"]
}
resource "azurerm_subnet" "s" {
  name                 = "nodes"
  resource_group_name  = azurerm_resource_group.g.name
  virtual_network_name = azurerm_virtual_network.n.name
  address_prefixes     = ["10.5.1.0/24"]
}
resource "azurerm_network_security_group" "g" {
  name                = "nodes"
  location            = azurerm_resource_group.g.location
  resource_group_name = azurerm_resource_group.g.name
}
resource "azurerm_network_security_rule" "api" {
  name                        = "api"
  network_security_group_name = azurerm_network_security_group.g.name
  resource_group_name         = azurerm_resource_group.g.name
  priority                    = 130
  direction                   = "Inbound"
  access                      = "Allow"
  protocol                    = "Tcp"
  source_port_range           = "*"
  destination_port_range      = "6443"
  source_address_prefix       = "VirtualNetwork"
  destination_address_prefix  = "*"
}
resource "azurerm_lb" "api" {
  name                = "api"
  location            = azurerm_resource_group.g.location
  resource_group_name = azurerm_resource_group.g.name
  frontend_ip_configuration {
    name      = "api"
    subnet_id = azurerm_subnet.s.id
  }
}
resource "azurerm_lb_backend_address_pool" "cp" {
  name            = "control-plane"
  loadbalancer_id = azurerm_lb.api.id
}
resource "azurerm_lb_probe" "api" {
  name                = "api"
  loadbalancer_id     = azurerm_lb.api.id
  port                = 6443
  protocol            = "Https"
  request_path        = "/readyz"
  interval_in_seconds = 5
}
resource "azurerm_lb_rule" "api" {
  name                           = "api"
  loadbalancer_id                = azurerm_lb.api.id
  protocol                       = "Tcp"
  frontend_port                  = 6443
  backend_port                   = 6443
  frontend_ip_configuration_name = "api"
  backend_address_pool_ids       = [azurerm_lb_backend_address_pool.cp.id]
  probe_id                       = azurerm_lb_probe.api.id
}
resource "azurerm_user_assigned_identity" "cp" {
  name                = "cp"
  location            = azurerm_resource_group.g.location
  resource_group_name = azurerm_resource_group.g.name
}
resource "azurerm_network_interface" "i" {
  count               = 2
  name                = "node-${count.index}"
  location            = azurerm_resource_group.g.location
  resource_group_name = azurerm_resource_group.g.name
  ip_configuration {
    name                          = "primary"
    subnet_id                     = azurerm_subnet.s.id
    private_ip_address_allocation = "Dynamic"
  }
}
resource "azurerm_network_interface_security_group_association" "i" {
  count                     = 2
  network_interface_id      = azurerm_network_interface.i[count.index].id
  network_security_group_id = azurerm_network_security_group.g.id
}
resource "azurerm_network_interface_backend_address_pool_association" "i" {
  count                   = 2
  network_interface_id    = azurerm_network_interface.i[count.index].id
  ip_configuration_name   = "primary"
  backend_address_pool_id = azurerm_lb_backend_address_pool.cp.id
}
resource "azurerm_linux_virtual_machine" "i" {
  count                 = 2
  name                  = "node-${count.index}"
  location              = azurerm_resource_group.g.location
  resource_group_name   = azurerm_resource_group.g.name
  size                  = "Standard_D4s_v5"
  admin_username        = "captf"
  zone                  = tostring(count.index + 1)
  source_image_id       = "/communityGalleries/capi/images/capi/versions/1.34.1"
  custom_data           = base64encode("#cloud-config")
  network_interface_ids = [azurerm_network_interface.i[count.index].id]
  admin_ssh_key {
    username   = "captf"
    public_key = "ssh-ed25519 AAAA"
  }
  os_disk {
    caching              = "ReadWrite"
    storage_account_type = "Premium_LRS"
  }
  identity {
    type         = "UserAssigned"
    identity_ids = [azurerm_user_assigned_identity.cp.id]
  }
  depends_on = [azurerm_network_interface_backend_address_pool_association.i]
}
resource "azurerm_linux_virtual_machine_scale_set" "p" {
  name                = "pool"
  location            = azurerm_resource_group.g.location
  resource_group_name = azurerm_resource_group.g.name
  sku                 = "Standard_D4s_v5"
  instances           = var.replicas
  admin_username      = "captf"
  zones               = ["1", "2"]
  source_image_id     = "/communityGalleries/capi/images/capi/versions/1.34.1"
  admin_ssh_key {
    username   = "captf"
    public_key = "ssh-ed25519 AAAA"
  }
  os_disk {
    caching              = "ReadWrite"
    storage_account_type = "Premium_LRS"
  }
  network_interface {
    name    = "primary"
    primary = true
    ip_configuration {
      name      = "primary"
      primary   = true
      subnet_id = azurerm_subnet.s.id
    }
  }
}
data "azurerm_virtual_machine_scale_set" "p" {
  name                = azurerm_linux_virtual_machine_scale_set.p.name
  resource_group_name = azurerm_resource_group.g.name
  depends_on          = [azurerm_linux_virtual_machine_scale_set.p]
}
data "azurerm_resources" "machines" {
  type                = "Microsoft.Compute/virtualMachines"
  resource_group_name = azurerm_resource_group.g.name
  depends_on          = [azurerm_linux_virtual_machine.i]
}

output "members" { value = length(data.azurerm_virtual_machine_scale_set.p.instances) }
output "machines" { value = data.azurerm_resources.machines.resources[*].name }
output "addresses" {
  value = concat(azurerm_linux_virtual_machine.i[*].private_ip_address, data.azurerm_virtual_machine_scale_set.p.instances[*].private_ip_address, [azurerm_lb.api.private_ip_address])
}
