output "control_plane_endpoint" {
  value = { host = "api.invalid" }
}
