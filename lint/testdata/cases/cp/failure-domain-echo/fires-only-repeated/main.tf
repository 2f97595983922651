variable "failure_domain" {
  type    = string
  default = null
}

locals {
  domain = var.failure_domain
}

resource "aws_instance" "node" {
  subnet_id = "subnet-0123"
}

output "failure_domain" {
  value = local.domain
}
