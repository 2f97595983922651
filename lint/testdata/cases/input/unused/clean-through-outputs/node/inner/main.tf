variable "zones" {
  type = list(string)
}

output "zones" {
  value = var.zones
}
