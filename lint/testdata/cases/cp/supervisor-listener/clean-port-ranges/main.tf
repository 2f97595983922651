locals {
  distribution = "rke2"
}

resource "google_compute_forwarding_rule" "api" {
  port_range = "6443-9345"
}
