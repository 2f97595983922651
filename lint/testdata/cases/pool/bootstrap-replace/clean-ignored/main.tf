resource "hcloud_server" "member" {
  user_data = base64decode(var.bootstrap_data)

  lifecycle {
    ignore_changes = [user_data]
  }
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
