output "control_plane_endpoint" {
  value = var.control_plane_endpoint != null ? var.control_plane_endpoint : { host = "10.0.0.300", port = 6443 }
}
