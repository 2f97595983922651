# Stands in for the scaling group and its launch configuration. Everything in here
# changes in place: bootstrap data rotates every few minutes, and must never replace
# a member (CP-061).
resource "terraform_data" "group" {
  input = {
    cluster          = var.captf_cluster
    object           = var.captf_object
    machinepool_name = var.machinepool_name
    tags             = var.captf_tags

    failure_domains    = local.failure_domains
    kubernetes_version = var.kubernetes_version
    node_labels        = var.node_labels
    replicas           = local.size
    version_roll       = terraform_data.kubernetes_version_roll.id

    # Recorded to show that the exports arrived. The members are workers and join no
    # backend of the control plane (CP-060).
    backend_id = local.backend_id

    # The payload is opaque, and may be gzip, which base64decode() refuses. It also
    # holds a join token, and everything in the state is plain text: a digest is
    # enough to tell two payloads apart (CP-047). The digest gives nothing away, so it
    # needs not be treated as a secret.
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
    # the apply, with the resource already in the state.
    postcondition {
      condition     = var.simulate_failure == "apply" ? self.id == "" : true
      error_message = "simulate_failure is apply: this failure is simulated, the resource exists."
    }
  }
}
