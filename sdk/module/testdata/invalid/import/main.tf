resource "terraform_data" "r" {}
import {
  to = terraform_data.r
}
