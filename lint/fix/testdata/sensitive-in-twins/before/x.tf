variable "bootstrap_data" {
  type = string
}
