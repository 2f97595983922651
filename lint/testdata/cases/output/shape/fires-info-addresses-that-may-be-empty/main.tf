variable "x" {
  type    = list(string)
  default = []
}

output "addresses" {
  value = [for a in var.x : { type = "InternalIp", address = a }]
}
