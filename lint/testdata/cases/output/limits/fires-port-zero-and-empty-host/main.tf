output "control_plane_endpoint" {
  value = { host = "", port = 0 }
}
