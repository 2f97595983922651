output "control_plane_endpoint" {
  value = var.control_plane_endpoint != null ? var.control_plane_endpoint : { host = "api.example.com:6443", port = 6443 }
}
