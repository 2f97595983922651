variable "machine_name" {
  type    = string
  default = "node"
}

variable "control_plane" {
  type    = bool
  default = null
}
