terraform {
  backend "local" {}
}

variable "control_plane" {
	type = number # a tab in front
}

# tfcapi-lint:ignore input/user-variable-default every template sets it
variable "région" {
  type = string
}

variable "size" {
  type = number
}

output "health" {
  value = { state = "ready", healthy = true }
}
