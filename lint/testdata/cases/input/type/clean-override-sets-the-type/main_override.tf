variable "control_plane" {
  type = bool
}
