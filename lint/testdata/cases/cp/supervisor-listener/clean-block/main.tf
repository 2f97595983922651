locals {
  distribution = "rke2"
}

resource "digitalocean_loadbalancer" "api" {
  forwarding_rule {
    entry_port = 6443
  }

  forwarding_rule {
    entry_port = 9345
  }
}
