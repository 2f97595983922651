variable "machine_name" {
  type = string
}

resource "google_compute_instance" "node" {
  name = var.machine_name
}

resource "google_compute_instance_group" "own" {
  name      = "${var.machine_name}-group"
  instances = [google_compute_instance.node.self_link]
}
