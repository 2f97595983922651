terraform {
  required_providers {
    tiny = { source = "example.com/acme/tiny" }
  }
}

variable "captf_cluster" {
  type = object({ name = string, namespace = string })
}

provider "tiny" {
  region = "r1"
}

resource "tiny_network" "this" {
  name = var.captf_cluster.name
}

output "exports" {
  value = { network_id = tiny_network.this.id }
}
