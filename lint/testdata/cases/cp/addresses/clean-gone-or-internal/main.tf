variable "gone" {
  type    = bool
  default = false
}

output "addresses" {
  value = var.gone ? [] : [
    { type = "ExternalIP", address = "192.0.2.1" },
    { type = "InternalIP", address = "10.0.0.1" },
  ]
}
