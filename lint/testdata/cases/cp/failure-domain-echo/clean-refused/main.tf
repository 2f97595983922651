variable "failure_domain" {
  type    = string
  default = null

  validation {
    condition     = try(contains(["site-1"], var.failure_domain), true)
    error_message = "There is only site-1."
  }
}

output "failure_domain" {
  value = var.failure_domain
}
