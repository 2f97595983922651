output "control_plane_endpoint" {
  value = var.control_plane_initialized ? null : null
}

variable "control_plane_initialized" {
  type = bool
}
