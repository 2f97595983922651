variable "bootstrap_data" {
  sensitive = true
}
