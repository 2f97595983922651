variable "control_plane" {
  type = number
}
