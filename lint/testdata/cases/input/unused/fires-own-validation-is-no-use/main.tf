variable "kubernetes_version" {
  type    = string
  default = null

  validation {
    condition     = var.kubernetes_version == null || length(var.kubernetes_version) > 0
    error_message = "kubernetes_version must not be empty."
  }
}
