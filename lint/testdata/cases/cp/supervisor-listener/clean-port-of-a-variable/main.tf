variable "distribution" {
  type    = string
  default = "rke2"
}

variable "listener_ports" {
  type    = set(number)
  default = [6443]
}

resource "hcloud_load_balancer_service" "api" {
  for_each    = var.listener_ports
  listen_port = each.value
}
