variable "x" {
  default = 1
}
output "y" {
  value = 1
}
locals {
  z = 1
}
resource "terraform_data" "r" {}
module "m" {
  source = "./m"
}
provider "terraform" {
  alias = "a"
}
