output "control_plane_endpoint" {
  value = { host = "api.example.com", port = "6443" }
}
