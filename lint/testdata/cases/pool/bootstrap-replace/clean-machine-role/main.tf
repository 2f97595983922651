resource "hcloud_server" "node" {
  user_data = var.bootstrap_data
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
