variable "x" {
  default = "a"
}
output "o" {
  value = var.x
}
module "m" {
  source = "./m"
}
resource "terraform_data" "r" {
  for_each = toset(["a"])
}
resource "terraform_data" "s" {
  connection {
    host = "a"
  }
  lifecycle {
    ignore_changes = [input]
  }
}
provider "terraform" {}
