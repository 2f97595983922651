variable "bootstrap_data" {
  type      = string
  sensitive = false # for now
}
