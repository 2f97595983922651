variable "x" {
  validation {
    condition = var.x != ""
  }
}
