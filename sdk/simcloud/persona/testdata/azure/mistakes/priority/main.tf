terraform {
  required_providers {
    azurerm = { source = "hashicorp/azurerm" }
  }
}

provider "azurerm" {
  features {}
}

resource "azurerm_network_security_rule" "r" {
  name                        = "r"
  network_security_group_name = "g"
  resource_group_name         = "demo"
  priority                    = 5000
  direction                   = "Inbound"
  access                      = "Allow"
  protocol                    = "*"
}
