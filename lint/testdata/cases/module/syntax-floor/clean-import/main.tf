terraform {
  required_version = ">= 1.7.0"
}

resource "terraform_data" "adopted" {
  for_each = { a = "x" }
}

import {
  for_each = { a = "x" }
  to       = terraform_data.adopted[each.key]
  id       = each.value
}
