output "control_plane_endpoint" {
  value = try(aws_lb.api[0].dns_name, null)
}
