# Stands in for the one instance that a machine module creates.
resource "terraform_data" "instance" {
  input = {
    cluster      = var.captf_cluster
    object       = var.captf_object
    machine_name = var.machine_name
    tags         = var.captf_tags

    control_plane      = var.control_plane
    failure_domain     = var.failure_domain
    image              = local.image
    kubernetes_version = var.kubernetes_version

    # Only a control-plane machine has business with the API backend (CP-031).
    backend_id = var.control_plane ? local.backend_id : null

    # The payload is opaque, and may be gzip, which base64decode() refuses. It also
    # holds private keys, and everything in the state is plain text: a digest is
    # enough to tell two payloads apart (CP-047). The digest of a payload that
    # holds keys gives nothing away, so it needs not be treated as a secret.
    bootstrap = {
      format = var.bootstrap_format
      length = nonsensitive(length(var.bootstrap_data))
      sha256 = nonsensitive(sha256(var.bootstrap_data))
    }
  }

  lifecycle {
    precondition {
      condition     = var.simulate_failure != "plan"
      error_message = "simulate_failure is plan: this failure is simulated."
    }

    # The id is only known once the resource exists, so this fails in the middle of
    # the apply, with the resource already in the state (CP-038).
    postcondition {
      condition     = var.simulate_failure == "apply" ? self.id == "" : true
      error_message = "simulate_failure is apply: this failure is simulated, the resource exists."
    }
  }
}
