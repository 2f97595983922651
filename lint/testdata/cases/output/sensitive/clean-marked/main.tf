output "payload" {
  value     = var.bootstrap_data
  sensitive = true
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
