output "payload" {
  value = var.show ? var.bootstrap_data : null
}

variable "show" {
  type    = bool
  default = false
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
