terraform {
  required_providers {
    tiny = { source = "example.com/acme/tiny" }
  }
}

variable "machine_name" {
  type = string
}

module "disk" {
  source = "./disk"
  name   = var.machine_name
}

resource "tiny_instance" "this" {
  name       = var.machine_name
  network_id = module.disk.network_id
}

resource "tiny_lb_target_group_attachment" "this" {
  target      = "api"
  instance_id = tiny_instance.this.id
}

output "addresses" {
  value = [{ type = "InternalIP", address = tiny_instance.this.private_ip }]
}
