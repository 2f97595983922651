variable "server" {
  type = number
}

resource "hcloud_load_balancer_target" "api" {
  type      = "server"
  server_id = var.server
}
