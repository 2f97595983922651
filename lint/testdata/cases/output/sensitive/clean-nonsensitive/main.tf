output "digest" {
  value = nonsensitive(sha256(var.bootstrap_data))
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
