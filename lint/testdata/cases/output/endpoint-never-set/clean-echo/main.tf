output "control_plane_endpoint" {
  value = var.control_plane_endpoint
}

variable "control_plane_endpoint" {
  type = any
  default = null
}
