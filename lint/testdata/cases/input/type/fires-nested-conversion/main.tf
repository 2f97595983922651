variable "control_plane_endpoint" {
  type = object({ host = string, port = string })
}
