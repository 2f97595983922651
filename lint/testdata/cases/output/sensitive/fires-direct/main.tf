output "payload" {
  value = var.bootstrap_data
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
