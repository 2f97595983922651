variable "bootstrap_data" {
  type      = string
  sensitive = true
  ephemeral = true
}
