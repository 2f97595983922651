variable "size" {
  type        = string
  default     = "small"
  description = "Base."
  validation {
    condition     = var.size != ""
    error_message = "Empty."
  }
}
variable "secret" {
  type     = string
  default  = null
  nullable = true
}
locals {
  a = "base"
  b = "kept"
}
output "o" {
  value       = local.a
  description = "Base."
}
resource "terraform_data" "r" {
  count            = 1
  input            = "base"
  triggers_replace = "base"
  lifecycle {
    create_before_destroy = true
    ignore_changes        = [input]
  }
  provisioner "local-exec" {
    command = "base"
  }
}
module "m" {
  source = "./one"
  x      = "base"
  y      = "base"
}
provider "terraform" {}
terraform {
  required_providers {
    terraform = {
      source = "terraform.io/builtin/terraform"
    }
  }
  backend "http" {
    address = "http://localhost/base"
  }
}
