variable "x" {
  validation {
    condition     = var.x != ""
    error_message = "Empty."
  }
}
