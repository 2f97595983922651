# REPLACE: the attachment to the load balancer's backend. It is a resource of its own
# for control-plane machines only, made in the same apply as the instance (CP-030, CP-031),
# so that destroying the machine removes it and no other (CP-035).
resource "terraform_data" "api_backend_member" {
  count = var.control_plane ? 1 : 0

  input = {
    address     = local.address
    backend_id  = local.backend_id
    instance_id = terraform_data.instance.id
  }

  lifecycle {
    precondition {
      condition     = local.backend_id != null
      error_message = "captf_cluster_outputs must hold backend_id, which the cluster module exports, for a control-plane machine."
    }
  }
}
