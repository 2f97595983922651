resource "digitalocean_loadbalancer" "api" {
  name        = "api"
  droplet_tag = "control-plane"
}

resource "hcloud_load_balancer_target" "api" {
  type             = "label_selector"
  load_balancer_id = hcloud_load_balancer.api.id
  label_selector   = "role=control-plane"
}

resource "hcloud_load_balancer" "api" {
  name = "api"
}

resource "google_compute_instance_group" "api" {
  name      = "api"
  instances = []

  lifecycle {
    ignore_changes = [instances]
  }
}
