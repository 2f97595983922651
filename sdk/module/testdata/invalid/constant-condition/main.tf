variable "x" {
  validation {
    condition     = true
    error_message = "Never."
  }
}
