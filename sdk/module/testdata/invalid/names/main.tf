variable "1x" {}
output "a.b" {
  value = 1
}
locals {
  ok = 1
}
resource "terraform_data" "with space" {}
