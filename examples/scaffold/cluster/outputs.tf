# The outputs of role cluster in contract v1alpha1, in contract order: all of them must
# be declared. Read them from the resources, so that a refresh tells what is there.

# Endpoint of the control plane. It must be set no later than the apply that provisions the
# cluster when the input is null (CP-001), and stay identical for life (CP-003).
output "control_plane_endpoint" {
  description = "Endpoint of the control plane."
  value = (var.control_plane_endpoint != null
    ? var.control_plane_endpoint
    : { host = terraform_data.api_frontend[0].input.host, port = terraform_data.api_frontend[0].input.port }
  )
}

# Failure domains that machines may be placed in. Each name must be accepted by the machine
# module (CP-014).
output "failure_domains" {
  description = "Failure domains that machines may be placed in."
  value = [
    for zone in sort(var.zones) : { name = zone, control_plane = true, attributes = {} }
  ]
}

# Identifiers that machine and machinepool modules need. A stable interface: no secrets, whole
# numbers only, nothing that changes by itself (CP-011, CP-012).
output "exports" {
  description = "Identifiers that machine and machinepool modules need."
  value = {
    schema       = "example-cluster/v1"
    cluster_name = local.cluster_name
    backend_id   = terraform_data.api_backend.id
    zones        = sort(var.zones)
  }
}

# Health of the infrastructure as the cloud sees it. While the state is pending the object stays
# unprovisioned; never wait for a Node.
output "health" {
  description = "Health of the infrastructure as the cloud sees it."
  value       = local.health
}
