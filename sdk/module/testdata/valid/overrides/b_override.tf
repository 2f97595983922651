variable "size" {
  type    = number
  default = 3
}
output "o" {
  value     = local.b
  sensitive = true
}
resource "terraform_data" "r" {
  input = "b"
  lifecycle {
    ignore_changes  = [triggers_replace]
    prevent_destroy = false
  }
  provisioner "local-exec" {
    command = "one"
  }
  provisioner "local-exec" {
    command = "two"
  }
}
module "m" {
  source = "./two"
  y      = "b"
}
terraform {
  backend "local" {
    path = "b.tfstate"
  }
}
