data "aws_lb" "api" {
  name = "api"
}

output "control_plane_endpoint" {
  value = { host = data.aws_lb.api.dns_name, port = 6443 }
}
