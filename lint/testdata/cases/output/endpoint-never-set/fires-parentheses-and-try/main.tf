output "control_plane_endpoint" {
  value = (try(null))
}
