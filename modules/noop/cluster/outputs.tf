# The contract outputs of role cluster, in contract order.

output "control_plane_endpoint" {
  description = "Endpoint of the control plane."
  value       = terraform_data.load_balancer.input.endpoint
}

output "failure_domains" {
  description = "Failure domains that machines may be placed in."
  value       = var.failure_domains
}

output "exports" {
  description = "Identifiers that machine and machinepool modules need."
  value = {
    # Consumers refuse a schema that they do not know. Adding a key keeps it,
    # removing or renaming one needs the next version.
    schema     = "captf.io/noop-cluster/v1"
    backend_id = "noop-backend-${terraform_data.load_balancer.id}"
  }
}

output "health" {
  description = "Health of the infrastructure as the cloud sees it."
  value       = local.health
}
