terraform {
  required_providers {
    google = { source = "hashicorp/google" }
  }
}

provider "google" {
  project = "demo"
  region  = "europe-west4"
}

variable "replicas" { default = 3 }

data "google_client_config" "here" {}
data "google_compute_zones" "all" { region = "europe-west4" }

resource "google_compute_network" "n" {
  name                    = "nodes"
  auto_create_subnetworks = false
}
resource "google_compute_subnetwork" "s" {
  name          = "nodes"
  network       = google_compute_network.n.id
  ip_cidr_range = "10.4.0.0/24"
}
resource "google_service_account" "cp" { account_id = "control-plane" }
resource "google_project_iam_member" "cp" {
  project = data.google_client_config.here.project
  role    = "roles/logging.logWriter"
  member  = google_service_account.cp.member
}
resource "google_compute_firewall" "f" {
  name                    = "nodes"
  network                 = google_compute_network.n.self_link
  source_service_accounts = [google_service_account.cp.email]
  target_service_accounts = [google_service_account.cp.email]
  allow { protocol = "all" }
}
resource "google_compute_address" "api" {
  name         = "api"
  address_type = "INTERNAL"
  purpose      = "SHARED_LOADBALANCER_VIP"
  subnetwork   = google_compute_subnetwork.s.id
}
resource "google_compute_instance_group" "cp" {
  count = 2
  name  = "control-plane"
  zone  = data.google_compute_zones.all.names[count.index]
  named_port {
    name = "apiserver"
    port = 6443
  }
  lifecycle { ignore_changes = [instances] }
}
resource "google_compute_region_health_check" "api" {
  name   = "api"
  region = "europe-west4"
  tcp_health_check { port = 6443 }
}
resource "google_compute_region_backend_service" "api" {
  name                  = "api"
  region                = "europe-west4"
  load_balancing_scheme = "INTERNAL_MANAGED"
  protocol              = "TCP"
  port_name             = "apiserver"
  timeout_sec           = 3600
  health_checks         = [google_compute_region_health_check.api.id]
  dynamic "backend" {
    for_each = google_compute_instance_group.cp
    content {
      group           = backend.value.self_link
      balancing_mode  = "UTILIZATION"
      capacity_scaler = 1
    }
  }
}
resource "google_compute_region_target_tcp_proxy" "api" {
  name            = "api"
  region          = "europe-west4"
  backend_service = google_compute_region_backend_service.api.id
}
resource "google_compute_forwarding_rule" "api" {
  name                  = "api"
  load_balancing_scheme = "INTERNAL_MANAGED"
  target                = google_compute_region_target_tcp_proxy.api.id
  ip_address            = google_compute_address.api.address
  port_range            = "6443"
  network               = google_compute_network.n.id
  subnetwork            = google_compute_subnetwork.s.id
  labels                = { a = "b" }
}
resource "google_compute_instance" "i" {
  count        = 2
  name         = "node-${count.index}"
  machine_type = "n2-standard-4"
  zone         = data.google_compute_zones.all.names[count.index]
  metadata     = { user-data = "#cloud-config" }
  boot_disk {
    initialize_params { image = "projects/images/global/images/capi" }
  }
  network_interface { subnetwork = google_compute_subnetwork.s.id }
  service_account {
    email  = google_service_account.cp.email
    scopes = ["cloud-platform"]
  }
}
resource "google_compute_instance_group_membership" "i" {
  count          = 2
  instance       = google_compute_instance.i[count.index].self_link
  instance_group = google_compute_instance_group.cp[count.index].name
  zone           = google_compute_instance.i[count.index].zone
}
resource "google_secret_manager_secret" "s" {
  secret_id = "boot"
  replication {
    auto {}
  }
}
resource "google_secret_manager_secret_version" "s" {
  secret      = google_secret_manager_secret.s.id
  secret_data = "hello"
}
resource "google_compute_region_instance_template" "t" {
  name_prefix  = "pool-"
  machine_type = "n2-standard-4"
  disk { source_image = "projects/images/global/images/capi" }
  network_interface { subnetwork = google_compute_subnetwork.s.id }
  lifecycle { create_before_destroy = true }
}
resource "google_compute_region_instance_group_manager" "g" {
  name               = "pool"
  base_instance_name = "pool"
  target_size        = var.replicas
  version { instance_template = google_compute_region_instance_template.t.self_link }
  update_policy {
    type           = "PROACTIVE"
    minimal_action = "REFRESH"
  }
}
data "google_compute_region_instance_group" "g" {
  self_link  = google_compute_region_instance_group_manager.g.instance_group
  depends_on = [google_compute_region_instance_group_manager.g]
}

output "members" { value = length(data.google_compute_region_instance_group.g.instances) }
output "addresses" { value = concat(google_compute_instance.i[*].network_interface[0].network_ip, [google_compute_address.api.address]) }
