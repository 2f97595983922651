variable "control_plane_endpoint" {
  type = object({ host = string, port = number })
}

locals {
  create = var.control_plane_endpoint == null
}

resource "aws_lb" "api" {
  count = local.create ? 1 : 0
}

output "control_plane_endpoint" {
  value = local.create ? { host = one(aws_lb.api[*].dns_name), port = 6443 } : var.control_plane_endpoint
}
