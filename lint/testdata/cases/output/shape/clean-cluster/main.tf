output "control_plane_endpoint" {
  value = { host = aws_lb.api.dns_name, port = 6443 }
}

output "failure_domains" {
  value = [for z in ["a", "b"] : { name = z, control_plane = true, attributes = { zone = z } }]
}

output "exports" {
  value = {}
}
