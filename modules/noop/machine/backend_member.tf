# Stands in for the attachment to the load balancer's backend: a resource of its
# own, in the machine's state and made in the same apply, for control-plane
# machines only (CP-030, CP-031). Destroying the machine removes it and no other
# (CP-035), and because it refers to the instance it goes first (CP-036). One backend
# serves every port, so it stands for RKE2's second listener too (CP-032); where a
# pool has one port, each listener needs an attachment of its own.
resource "terraform_data" "backend_member" {
  count = var.control_plane ? 1 : 0

  input = {
    backend_id  = local.backend_id
    instance_id = terraform_data.instance.id
    address     = local.address
  }

  lifecycle {
    precondition {
      condition     = local.backend_id != null || !local.externally_managed
      error_message = "captf_cluster_outputs is empty because the cluster is managed externally: set external_cluster_exports in spec.variables to an object with schema and backend_id."
    }

    precondition {
      condition     = local.backend_id != null || local.externally_managed
      error_message = "captf_cluster_outputs is incomplete: a control-plane machine needs the key backend_id, which the no-op cluster module exports."
    }
  }
}
