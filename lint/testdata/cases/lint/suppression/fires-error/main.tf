# tfcapi-lint:ignore input/type it works on my machine
variable "control_plane" {
  type = number
}
