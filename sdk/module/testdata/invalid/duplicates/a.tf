variable "x" {}
output "y" {
  value = 1
}
locals {
  z = 1
}
resource "terraform_data" "r" {}
