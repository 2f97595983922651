variable "bootstrap_data" {
  type      = string
  sensitive = true
  default   = "c2VjcmV0"
}
