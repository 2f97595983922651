variable "secret" {
  type      = string
  sensitive = true
}
variable "strict" {
  type     = string
  nullable = false
  default  = "x"
}
variable "loose" {
  type     = string
  nullable = true
  default  = null
}
variable "string_flag" {
  type      = string
  default   = ""
  sensitive = "true"
}
variable "checked" {
  type    = number
  default = 1
  validation {
    condition     = var.checked > 0
    error_message = "Must be above zero, not ${var.checked}."
  }
  validation {
    condition     = var.checked < 10
    error_message = "Must be below ten."
  }
}
output "secret" {
  value      = var.secret
  sensitive  = true
  depends_on = [terraform_data.one]
}
output "checked" {
  value = terraform_data.one.output
  precondition {
    condition     = terraform_data.one.output != null
    error_message = "No output."
  }
}
resource "terraform_data" "one" {
  input = var.checked
}
