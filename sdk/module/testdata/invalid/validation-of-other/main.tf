variable "x" {}
variable "y" {
  validation {
    condition     = var.x != ""
    error_message = "Empty."
  }
}
