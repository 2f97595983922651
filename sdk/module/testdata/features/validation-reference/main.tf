variable "min" {
  default = 1
}
variable "max" {
  default = 2
  validation {
    condition     = var.max > var.min
    error_message = "Too small."
  }
}
