output "control_plane_endpoint" {
  value = { host = var.control_plane_initialized ? "late.invalid" : "early.invalid", port = 6443 }
}
