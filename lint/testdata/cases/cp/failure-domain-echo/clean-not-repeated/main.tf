variable "failure_domain" {
  type    = string
  default = null
}

output "failure_domain" {
  value = null
}
