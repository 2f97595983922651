variable "control_plane" {
  type = number
}

variable "machine_name" {
  type = list(string)
}

variable "bootstrap_format" {
  type = bool
}
