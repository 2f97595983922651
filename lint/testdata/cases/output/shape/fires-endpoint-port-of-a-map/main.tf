output "control_plane_endpoint" {
  value = tomap({ host = "a", port = 6443 })
}
