variable "instances" {
  type = list(string)
}

resource "google_compute_instance_group" "api" {
  name      = "api"
  instances = var.instances
}
