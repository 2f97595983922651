resource "terraform_data" "r" {
  for_each = toset(["a"])
}
import {
  for_each = toset(["a"])
  to       = terraform_data.r[each.key]
  id       = each.value
}
