locals {
  distribution = "rke2"
}

resource "google_compute_forwarding_rule" "api" {
  all_ports = true
}

resource "oci_network_load_balancer_listener" "api" {
  port = 0
}
