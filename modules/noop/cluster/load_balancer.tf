# Stands in for what a real cluster module creates: network, firewalls, load
# balancer. A change of the input updates it in place, so its id, and with it the
# backend's, lasts as long as the cluster (CP-011). The record stays when somebody else
# provides the endpoint: then the load balancer is theirs, and the backend still ours.
# tfcapi-lint:ignore cluster/endpoint-protect the address comes from the object's name, so a replacement keeps it
resource "terraform_data" "load_balancer" {
  input = {
    cluster                   = var.captf_cluster
    object                    = var.captf_object
    tags                      = var.captf_tags
    control_plane_endpoint    = var.control_plane_endpoint
    control_plane_initialized = var.control_plane_initialized
    cluster_network           = var.cluster_network
    kubernetes_version        = var.kubernetes_version

    # What was published, so that the output comes from the resource as it would
    # from a cloud: a refresh repeats the record, whatever the variables say by then.
    endpoint = local.endpoint
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
