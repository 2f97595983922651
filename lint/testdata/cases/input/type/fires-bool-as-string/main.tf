variable "control_plane" {
  type = string
}
