resource "aws_lb" "api" {
  name = "api"

  lifecycle {
    prevent_destroy = false
  }
}

output "control_plane_endpoint" {
  value = {
    host = aws_lb.api.dns_name
    port = 6443
  }
}
