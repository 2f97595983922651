resource "terraform_data" "r" {}
import {
  to       = terraform_data.r
  id       = "x"
  identity = { id = "x" }
}
