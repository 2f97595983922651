variable "captf_cluster_outputs" {
  type    = any
  default = null
}

variable "control_plane" {
  type = bool

  validation {
    condition     = var.control_plane != null
    error_message = "control_plane must be set."
  }
}

resource "google_compute_instance" "node" {
  name = "node"

  network_interface {
    subnetwork = var.captf_cluster_outputs.subnetwork
  }

  lifecycle {
    precondition {
      condition     = !var.control_plane
      error_message = "Only workers can be preemptible."
    }
  }
}

output "note" {
  value = "a note"
}
