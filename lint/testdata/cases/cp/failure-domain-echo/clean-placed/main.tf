variable "failure_domain" {
  type    = string
  default = null
}

variable "captf_cluster_outputs" {
  type    = any
  default = null
}

locals {
  subnet = var.captf_cluster_outputs.failure_domains[var.failure_domain].subnet_id
}

resource "aws_instance" "node" {
  subnet_id = local.subnet
}

output "failure_domain" {
  value = var.failure_domain
}
