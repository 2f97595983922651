output "provider_id" {
  value = var.machine_name == "a" ? "" : "noop://a"
}

variable "machine_name" {
  type = string
}
