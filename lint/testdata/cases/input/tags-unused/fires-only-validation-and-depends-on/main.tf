variable "captf_tags" {
  type = map(string)

  validation {
    condition     = length(var.captf_tags) > 0
    error_message = "captf_tags must not be empty."
  }
}

check "tags" {
  assert {
    condition     = length(var.captf_tags) > 0
    error_message = "captf_tags must not be empty."
  }
}

output "provider_id" {
  value      = "x"
  depends_on = [var.captf_tags]
}
