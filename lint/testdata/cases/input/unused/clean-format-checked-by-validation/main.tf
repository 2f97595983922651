variable "bootstrap_format" {
  type = string

  validation {
    condition     = var.bootstrap_format == "cloud-config"
    error_message = "Only cloud-config is supported."
  }
}
