terraform {
  required_providers {
    tiny = { source = "example.com/acme/tiny" }
  }
}

variable "name" {
  type = string
}

resource "tiny_network" "disk" {
  name = "${var.name}-storage"
}

output "network_id" {
  value = tiny_network.disk.id
}
