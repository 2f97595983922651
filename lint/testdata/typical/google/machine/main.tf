variable "captf_cluster_outputs" {
  type    = any
  default = null
}

variable "machine_name" {
  type = string
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}

variable "failure_domain" {
  type    = string
  default = null
}

variable "control_plane" {
  type = bool
}

locals {
  exports = var.captf_cluster_outputs
  domains = sort(keys(local.exports.failure_domains))
  domain = coalesce(
    var.failure_domain,
    local.domains[parseint(substr(sha256(var.machine_name), 0, 8), 16) % length(local.domains)],
  )
}

resource "google_compute_instance" "node" {
  name = var.machine_name
  zone = local.domain

  metadata = {
    user-data          = var.bootstrap_data
    user-data-encoding = "base64"
  }

  network_interface {
    subnetwork = local.exports.subnetwork
  }
}

resource "google_compute_instance_group_membership" "api" {
  count          = var.control_plane && try(local.exports.api, null) != null ? 1 : 0
  instance_group = local.exports.api.instance_groups[local.domain]
  instance       = google_compute_instance.node.self_link
  zone           = local.domain
}

output "addresses" {
  value = concat(
    [{ type = "InternalIP", address = google_compute_instance.node.network_interface[0].network_ip }],
    [for c in google_compute_instance.node.network_interface[0].access_config : { type = "ExternalIP", address = c.nat_ip }],
  )
}

output "failure_domain" {
  value = google_compute_instance.node.zone
}
