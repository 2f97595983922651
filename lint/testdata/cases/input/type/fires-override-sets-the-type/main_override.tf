# The position is that of the override.
variable "control_plane" {
  type = number
}
