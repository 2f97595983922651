output "control_plane_endpoint" {
  value = null
}
