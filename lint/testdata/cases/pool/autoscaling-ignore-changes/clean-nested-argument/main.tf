variable "autoscaling" {
  type = object({ enabled = bool, min = number, max = number })
}

resource "azurerm_linux_virtual_machine_scale_set" "this" {
  instances = var.autoscaling.min

  lifecycle {
    ignore_changes = [sku[0].capacity]
  }
}
