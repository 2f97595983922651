variable "zone" {
  type = string

  validation {
    condition     = var.zone != ""
    error_message = "The zone is empty."
  }
}
