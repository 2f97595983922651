variable "size" {
  type    = number # of disks
  default = 1

  validation {
    condition     = var.size > 0
    error_message = "The size must be positive."
  }
}
