terraform {
  required_providers {
    azurerm = { source = "hashicorp/azurerm" }
  }
}

provider "azurerm" {
  features {}
}

resource "azurerm_resource_group" "g" {
  name     = "demo"
  location = "westeurope"
  tags     = { "captf.io/cluster" = "demo" }
}
