output "control_plane_endpoint" {
  value = var.control_plane_initialized ? null : { host = "a", port = 6443 }
}

variable "control_plane_initialized" {
  type = bool
}
