variable "bootstrap_data" {
  sensitive = false
}
