variable "fd" {
  type    = list(string)
  default = []
}

output "failure_domains" {
  value = [for z in var.fd : z]
}
