resource "terraform_data" "network" {}

variable "existing" {
  type    = map(string)
  default = {}
}

# Refused even if it imports nothing.
import {
  for_each = var.existing
  to       = terraform_data.network
  id       = each.value
}
