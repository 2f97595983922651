resource "aws_lb" "api" {
  name = "api"
}

output "control_plane_endpoint" {
  value = local.endpoint
}

locals {
  endpoint = { host = aws_lb.api.dns_name, port = 6443 }
}
